// See node.hpp.
#include "expr/node.hpp"

#include "expr/function.hpp"

namespace broadloom {

// A chain of a million nodes must not recurse a million destructors: children that nobody else holds
// hand their own children to a work list before they die, and so do functions that nobody else calls.
ExprNode::~ExprNode() {
  std::vector<std::shared_ptr<const ExprNode>> dying;
  std::vector<std::shared_ptr<const FunctionDecl>> functions;
  if (function) functions.push_back(std::move(function));
  auto adopt = [&](std::vector<Expr> &children) {
    for (const Expr &child : children)
      if (child.handle()) dying.push_back(child.handle());
    children.clear();
  };
  adopt(args);
  while (!dying.empty() || !functions.empty()) {
    if (!functions.empty()) {
      std::shared_ptr<const FunctionDecl> last = std::move(functions.back());
      functions.pop_back();
      if (last.use_count() != 1) continue;
      dying.push_back(last->body.handle());
      for (const FunctionDecl::Derivative &d : last->derivatives) dying.push_back(d.value.handle());
      const_cast<FunctionDecl &>(*last) = {};
      continue;
    }
    std::shared_ptr<const ExprNode> node = std::move(dying.back());
    dying.pop_back();
    // Every node is made by make_node as a mutable object, and nobody else can reach this one.
    if (!node || node.use_count() != 1) continue;
    ExprNode &last = const_cast<ExprNode &>(*node);
    adopt(last.args);
    if (last.function) functions.push_back(std::move(last.function));
  }
}

Place place_of(const std::source_location &where) {
  Place place;
  place.file = where.file_name();
  place.line = int(where.line());
  place.column = int(where.column());
  return place;
}

Expr make_op(ops::Op op, std::vector<Expr> args, Place where) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::Op;
  node->op = op;
  node->args = std::move(args);
  node->where = std::move(where);
  return Expr(std::move(node));
}

Expr make_literal(const Number &number, Place where) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::Literal;
  node->number = number;
  node->where = std::move(where);
  return Expr(std::move(node));
}

Expr make_cast(DType dtype, Expr arg, Place where) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::Cast;
  node->dtype = dtype;
  node->args = {std::move(arg)};
  node->where = std::move(where);
  return Expr(std::move(node));
}

Expr make_input(std::shared_ptr<const InputDecl> decl, Place where) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::Input;
  node->input = std::move(decl);
  node->where = std::move(where);
  return Expr(std::move(node));
}

namespace {

Expr make_use(ExprKind kind, FoldUse use, std::vector<Expr> args, std::vector<AxisRef> axes,
              Place where) {
  auto node = std::make_shared<ExprNode>();
  node->kind = kind;
  node->folded = args.size();
  node->args = std::move(args);
  node->args.insert(node->args.end(), use.init.begin(), use.init.end());
  use.init.clear();
  node->use = std::make_shared<const FoldUse>(std::move(use));
  node->axes = std::move(axes);
  node->where = std::move(where);
  return Expr(std::move(node));
}

} // namespace

Expr make_fold(FoldUse use, std::vector<Expr> args, std::vector<AxisRef> axes, Place where) {
  return make_use(ExprKind::Fold, std::move(use), std::move(args), std::move(axes),
                  std::move(where));
}

Expr make_scan(FoldUse use, std::vector<Expr> args, AxisRef axis, Place where) {
  return make_use(ExprKind::Scan, std::move(use), std::move(args), {std::move(axis)},
                  std::move(where));
}

Expr make_parameter(std::string name, Place where) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::Parameter;
  node->name = std::move(name);
  node->where = std::move(where);
  return Expr(std::move(node));
}

Expr make_extent(AxisRef axis, std::vector<std::string> of, Place where) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::Extent;
  node->axes = {std::move(axis)};
  node->of = std::move(of);
  node->where = std::move(where);
  return Expr(std::move(node));
}

Expr make_iota(AxisRef axis, std::vector<std::string> of, Place where) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::Iota;
  node->axes = {std::move(axis)};
  node->of = std::move(of);
  node->where = std::move(where);
  return Expr(std::move(node));
}

Expr make_call(std::shared_ptr<const FunctionDecl> function, std::vector<Expr> args, Place where) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::Call;
  node->function = std::move(function);
  node->args = std::move(args);
  node->where = std::move(where);
  return Expr(std::move(node));
}

Expr with_args(const ExprNode &node, std::vector<Expr> args) {
  auto copy = std::shared_ptr<ExprNode>(new ExprNode(node));
  copy->args = std::move(args);
  return Expr(std::move(copy));
}

Expr make_let(std::string name, Expr value, Place where) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::Let;
  node->name = std::move(name);
  node->args = {std::move(value)};
  node->where = std::move(where);
  return Expr(std::move(node));
}

} // namespace broadloom
