// See used_definitions.hpp.
#include "text/used_definitions.hpp"

#include "expr/walk.hpp"
#include "spec/definition.hpp"
#include "support/text.hpp"

#include <unordered_set>

namespace broadloom::text {

namespace {

bool is_small(const ExprNode &node) {
  return node.kind == ExprKind::Parameter || node.kind == ExprKind::Literal;
}

// One of the two.
struct Definition {
  const AccumulatorDef *accumulator = nullptr;
  const FunctionDecl *function = nullptr;
  const void *key() const {
    return accumulator ? static_cast<const void *>(accumulator) : function;
  }
};

// The expressions of a function: its body, then its derivatives.
std::vector<const ExprNode *> roots_of(const FunctionDecl &function) {
  std::vector<const ExprNode *> roots{function.body.node()};
  for (const FunctionDecl::Derivative &d : function.derivatives) roots.push_back(d.value.node());
  return roots;
}

std::vector<Definition> used_by(const Definition &definition) {
  std::vector<const ExprNode *> roots;
  if (definition.function) roots = roots_of(*definition.function);
  if (definition.accumulator)
    for_each_expression(*definition.accumulator,
                        [&](const Expr &root) { roots.push_back(root.node()); });
  std::vector<Definition> used;
  expr::Walker walker;
  for (const ExprNode *root : roots)
    walker.walk(root, [&](const ExprNode &node) {
      if (node.kind == ExprKind::Call) used.push_back({nullptr, node.function.get()});
      if (node.use && node.use->accumulator.definition())
        used.push_back({node.use->accumulator.definition().get(), nullptr});
    });
  return used;
}

class Collector {
public:
  UsedDefinitions run(const std::vector<const AccumulatorDef *> &accumulators,
                      const std::vector<const FunctionDecl *> &functions) {
    for (const AccumulatorDef *accumulator : accumulators) visit({accumulator, nullptr});
    for (const FunctionDecl *function : functions) visit({nullptr, function});
    // All names first, so that no part takes one of them.
    for (const Definition &definition : order_)
      if (definition.accumulator) taken_.insert(definition.accumulator->name);
    for (const auto &[function, name] : result_.names) taken_.insert(name);
    for (const Definition &definition : order_)
      if (definition.function) give_name(*definition.function);
    for (const Definition &definition : order_) {
      if (definition.function) add(*definition.function);
      if (definition.accumulator) result_.all.emplace_back().accumulator = definition.accumulator;
    }
    return std::move(result_);
  }

private:
  void visit(const Definition &root) {
    struct Open {
      Definition definition;
      std::vector<Definition> used;
      std::size_t next = 0;
    };
    std::vector<Open> stack;
    const auto open = [&](const Definition &definition) {
      if (definition.function && spec::is_prelude(*definition.function)) { // no text defines it
        result_.names[definition.function] = definition.function->name;
        return;
      }
      if (seen_.insert(definition.key()).second) stack.push_back({definition, used_by(definition)});
    };
    open(root);
    while (!stack.empty()) {
      Open &top = stack.back();
      if (top.next < top.used.size()) {
        const Definition next = top.used[top.next++];
        open(next);
        continue;
      }
      order_.push_back(top.definition);
      stack.pop_back();
    }
  }

  void give_name(const FunctionDecl &function) {
    std::string name = function.name;
    for (int i = 2; !taken_.insert(name).second; ++i)
      name = function.name + "_" + std::to_string(i);
    result_.names[&function] = std::move(name);
  }

  void add(const FunctionDecl &function) {
    const std::string &name = result_.names.at(&function);
    add_parts(function, name);
    PrintedDefinition &made = result_.all.emplace_back();
    made.name = name;
    made.params = names_of(function, false);
    made.body = function.body.node();
    made.function = &function;
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
      PrintedDefinition made;
      made.name = part;
      made.params = names_of(function, of_derivative);
      made.body = node;
      made.is_part = true;
      result_.parts[node] = part + "(" + support::joined(made.params) + ")";
      result_.all.push_back(std::move(made));
    }
  }

  static std::vector<std::string> names_of(const FunctionDecl &function, bool with_cotangent) {
    std::vector<std::string> names;
    for (const Expr &param : function.params) names.push_back(param.node()->name);
    if (with_cotangent) names.push_back(cotangent_name);
    return names;
  }

  std::unordered_set<std::string> taken_;
  std::unordered_set<const void *> seen_;
  std::vector<Definition> order_; // each after those that it uses
  UsedDefinitions result_;
};

} // namespace

UsedDefinitions used_definitions(const std::vector<const AccumulatorDef *> &accumulators,
                                 const std::vector<const FunctionDecl *> &functions) {
  return Collector().run(accumulators, functions);
}

} // namespace broadloom::text
