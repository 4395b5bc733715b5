// See used_functions.hpp.
#include "spec/used_functions.hpp"

#include "expr/walk.hpp"

namespace broadloom::spec {

namespace {

bool is_small(const ExprNode &node) {
  return node.kind == ExprKind::Parameter || node.kind == ExprKind::Literal;
}

// The expressions of a function: its body, then its derivatives.
std::vector<const ExprNode *> roots_of(const FunctionDecl &function) {
  std::vector<const ExprNode *> roots{function.body.node()};
  for (const FunctionDecl::Derivative &d : function.derivatives) roots.push_back(d.value.node());
  return roots;
}

std::vector<const FunctionDecl *> called_by(const FunctionDecl &function) {
  std::vector<const FunctionDecl *> called;
  expr::Walker walker;
  for (const ExprNode *root : roots_of(function))
    walker.walk(root, [&](const ExprNode &node) {
      if (node.kind == ExprKind::Call) called.push_back(node.function.get());
    });
  return called;
}

class Collector {
public:
  explicit Collector(std::unordered_set<std::string> taken) : taken_(std::move(taken)) {}

  UsedFunctions run(const std::vector<const FunctionDecl *> &roots) {
    for (const FunctionDecl *root : roots) visit(root);
    for (const FunctionDecl *function : order_) { // first, so that no part takes such a name
      std::string name = function->name;
      for (int i = 2; !taken_.insert(name).second; ++i)
        name = function->name + "_" + std::to_string(i);
      result_.names[function] = std::move(name);
    }
    for (const FunctionDecl *function : order_) {
      const std::string &name = result_.names[function];
      add_parts(*function, name);
      result_.functions.push_back(
          {name, names_of(*function, false), function->body.node(), false, function});
    }
    return std::move(result_);
  }

private:
  void visit(const FunctionDecl *root) {
    struct Open {
      const FunctionDecl *function;
      std::vector<const FunctionDecl *> called;
      std::size_t next = 0;
    };
    std::vector<Open> stack;
    auto open = [&](const FunctionDecl *function) {
      if (seen_.insert(function).second) stack.push_back({function, called_by(*function)});
    };
    open(root);
    while (!stack.empty()) {
      Open &top = stack.back();
      if (top.next < top.called.size()) {
        open(top.called[top.next++]);
        continue;
      }
      order_.push_back(top.function);
      stack.pop_back();
    }
  }

  void add_parts(const FunctionDecl &function, const std::string &name) {
    std::unordered_map<const ExprNode *, std::size_t> users;
    std::vector<std::pair<const ExprNode *, bool>> order; // with: is it of a derivative?
    expr::Walker walker;
    bool derivative = false;
    for (const ExprNode *root : roots_of(function)) {
      walker.walk(root, [&](const ExprNode &node) {
        order.emplace_back(&node, derivative);
        for (const Expr &arg : node.args) ++users[arg.node()];
      });
      ++users[root];
      derivative = true;
    }
    int next = 1;
    for (const auto &[node, of_derivative] : order) {
      if (is_small(*node) || users[node] < 2) continue;
      std::string part;
      do part = name + "_" + std::to_string(next++);
      while (!taken_.insert(part).second);
      std::vector<std::string> params = names_of(function, of_derivative);
      std::string call = part + "(";
      for (std::size_t i = 0; i < params.size(); ++i) call += (i == 0 ? "" : ", ") + params[i];
      result_.parts[node] = call + ")";
      result_.functions.push_back({part, std::move(params), node, true, nullptr});
    }
  }

  static std::vector<std::string> names_of(const FunctionDecl &function, bool with_cotangent) {
    std::vector<std::string> names;
    for (const Expr &param : function.params) names.push_back(param.node()->name);
    if (with_cotangent) names.push_back(cotangent_name);
    return names;
  }

  std::unordered_set<std::string> taken_;
  std::unordered_set<const FunctionDecl *> seen_;
  std::vector<const FunctionDecl *> order_; // each after those that it calls
  UsedFunctions result_;
};

} // namespace

UsedFunctions used_functions(const std::vector<const FunctionDecl *> &roots,
                             std::unordered_set<std::string> taken) {
  return Collector(std::move(taken)).run(roots);
}

} // namespace broadloom::spec
