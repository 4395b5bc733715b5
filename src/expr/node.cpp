// See node.hpp.
#include "expr/node.hpp"

namespace broadloom {

Place place_of(const std::source_location &where) {
  Place place;
  place.file = where.file_name();
  place.line = int(where.line());
  place.column = int(where.column());
  return place;
}

namespace {

std::shared_ptr<ExprNode> new_node(ExprKind kind, Place where, std::vector<Expr> args = {}) {
  auto node = std::make_shared<ExprNode>();
  node->kind = kind;
  node->args = std::move(args);
  node->where = std::move(where);
  return node;
}

Expr make_use(ExprKind kind, FoldUse use, std::vector<Expr> args, std::vector<AxisRef> axes,
              Place where) {
  auto node = new_node(kind, std::move(where), std::move(args));
  node->folded = node->args.size();
  node->args.insert(node->args.end(), use.init.begin(), use.init.end());
  use.init.clear();
  node->use = std::make_shared<const FoldUse>(std::move(use));
  node->axes = std::move(axes);
  return Expr(std::move(node));
}

} // namespace

Expr make_op(ops::Op op, std::vector<Expr> args, Place where) {
  auto node = new_node(ExprKind::Op, std::move(where), std::move(args));
  node->op = op;
  return Expr(std::move(node));
}

Expr make_literal(const Number &number, Place where) {
  auto node = new_node(ExprKind::Literal, std::move(where));
  node->number = number;
  return Expr(std::move(node));
}

Expr make_cast(DType dtype, Expr arg, Place where) {
  auto node = new_node(ExprKind::Cast, std::move(where), {std::move(arg)});
  node->dtype = dtype;
  return Expr(std::move(node));
}

Expr make_input(std::shared_ptr<const InputDecl> decl, Place where, std::vector<Expr> let) {
  auto node = new_node(ExprKind::Input, std::move(where), std::move(let));
  node->input = std::move(decl);
  return Expr(std::move(node));
}

Expr make_fold(FoldUse use, std::vector<Expr> args, std::vector<AxisRef> axes, Place where) {
  return make_use(ExprKind::Fold, std::move(use), std::move(args), std::move(axes),
                  std::move(where));
}

Expr make_scan(FoldUse use, std::vector<Expr> args, AxisRef axis, Place where) {
  return make_use(ExprKind::Scan, std::move(use), std::move(args), {std::move(axis)},
                  std::move(where));
}

Expr make_parameter(std::string name, Place where) {
  auto node = new_node(ExprKind::Parameter, std::move(where));
  node->name = std::move(name);
  return Expr(std::move(node));
}

Expr make_extent(AxisRef axis, std::vector<std::string> of, Place where) {
  auto node = new_node(ExprKind::Extent, std::move(where));
  node->axes = {std::move(axis)};
  node->of = std::move(of);
  return Expr(std::move(node));
}

Expr make_iota(AxisRef axis, std::vector<std::string> of, Place where) {
  auto node = new_node(ExprKind::Iota, std::move(where));
  node->axes = {std::move(axis)};
  node->of = std::move(of);
  return Expr(std::move(node));
}

Expr with_of(const ExprNode &node, AxisRef axis, std::vector<std::string> of) {
  const auto make = node.kind == ExprKind::Extent ? make_extent : make_iota;
  return make(std::move(axis), std::move(of), node.where);
}

Expr make_call(std::shared_ptr<const FunctionDecl> function, std::vector<Expr> args, Place where) {
  auto node = new_node(ExprKind::Call, std::move(where), std::move(args));
  node->function = std::move(function);
  return Expr(std::move(node));
}

Expr with_args(const ExprNode &node, std::vector<Expr> args) {
  auto copy = std::shared_ptr<ExprNode>(new ExprNode(node));
  copy->args = std::move(args);
  return Expr(std::move(copy));
}

Expr with_use(const ExprNode &node, FoldUse use, std::vector<Expr> args,
              std::vector<AxisRef> axes) {
  use.init.assign(args.begin() + std::ptrdiff_t(node.folded), args.end());
  args.resize(node.folded);
  return make_use(node.kind, std::move(use), std::move(args), std::move(axes), node.where);
}

Expr make_let(std::string name, Expr value, Place where, std::vector<AxisRef> axes, LetLoop loop) {
  auto node = new_node(ExprKind::Let, std::move(where), {std::move(value)});
  node->axes = std::move(axes);
  node->name = std::move(name);
  if (loop.start.node()) node->args.push_back(std::move(loop.start));
  node->count = loop.count;
  node->counted_dim = loop.counted_dim;
  node->input = std::move(loop.said);
  node->store = loop.store;
  return Expr(std::move(node));
}

LetLoop loop_of(const ExprNode &let) {
  return {let.args.size() > 1 ? let.args[1] : Expr(), let.count, let.counted_dim, let.input,
          let.store};
}

} // namespace broadloom
