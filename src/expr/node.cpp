// See node.hpp.
#include "expr/node.hpp"

#include "expr/function.hpp"
#include "expr/window.hpp"

namespace broadloom {

namespace {

// The arrays whose extents stand in the positions of a window that nobody else reads: those of a position that has some, or null.
std::vector<AffineForm::Extent> *own_extents(const ExprNode &node) {
  if (!node.input || node.input.use_count() != 1 || !node.input->window ||
      node.input->window.use_count() != 1)
    return nullptr;
  Window &window = const_cast<Window &>(*node.input->window);
  for (AffineForm &form : window.forms)
    if (!form.extents.empty()) return &form.extents;
  return nullptr;
}

// What a dying node holds: its arguments, the arrays above, and the expressions of a function that nobody else calls.
bool has_children(const ExprNode &node) {
  if (!node.args.empty() || own_extents(node) != nullptr) return true;
  return node.function && node.function.use_count() == 1 &&
         (!node.function->derivatives.empty() || node.function->body.handle());
}
// Nodes and functions are made as mutable objects, and nobody else can reach these.
Expr &last_child(ExprNode &node) {
  if (!node.args.empty()) return node.args.back();
  if (auto *extents = own_extents(node)) return extents->back().of;
  FunctionDecl &function = const_cast<FunctionDecl &>(*node.function);
  return function.derivatives.empty() ? function.body : function.derivatives.back().value;
}
void drop_last_child(ExprNode &node) {
  if (!node.args.empty()) return node.args.pop_back();
  if (auto *extents = own_extents(node)) return extents->pop_back();
  FunctionDecl &function = const_cast<FunctionDecl &>(*node.function);
  if (function.derivatives.empty())
    function.body = {};
  else
    function.derivatives.pop_back();
}
std::shared_ptr<const ExprNode> taken_out_of(Expr &place) {
  std::shared_ptr<const ExprNode> handle = place.handle();
  place = {};
  return handle;
}

} // namespace

// A chain of a million nodes must not recurse a million destructors, and a destructor has no memory to
// ask for. So children that nobody else holds are taken apart one after the other, depth first, and the way back
// is kept in the place that the child has left (Schorr and Waite).
ExprNode::~ExprNode() {
  ExprNode *current = this;
  std::shared_ptr<const ExprNode> own, up; // hold `current` and its parent; null for this node
  for (std::size_t depth = 0;;) {
    if (has_children(*current)) {
      Expr &place = last_child(*current);
      std::shared_ptr<const ExprNode> child = taken_out_of(place);
      if (!child || child.use_count() != 1) {
        drop_last_child(*current);
        continue;
      }
      place = Expr(std::move(up));
      up = std::move(own);
      own = std::move(child);
      ++depth;
    } else {
      if (depth-- == 0) return;
      own = std::move(up); // and what it held dies, without children
      ExprNode &parent = own ? const_cast<ExprNode &>(*own) : *this;
      up = taken_out_of(last_child(parent));
      drop_last_child(parent);
    }
    current = own ? const_cast<ExprNode *>(own.get()) : this;
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

Expr make_input(std::shared_ptr<const InputDecl> decl, Place where, std::vector<Expr> let) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::Input;
  node->args = std::move(let);
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

Expr make_let(std::string name, Expr value, Place where, std::vector<AxisRef> axes, LetLoop loop) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::Let;
  node->axes = std::move(axes);
  node->name = std::move(name);
  node->args = {std::move(value)};
  if (loop.start.node()) node->args.push_back(std::move(loop.start));
  node->count = loop.count;
  node->counted_dim = loop.counted_dim;
  node->input = std::move(loop.said);
  node->store = loop.store;
  node->where = std::move(where);
  return Expr(std::move(node));
}

LetLoop loop_of(const ExprNode &let) {
  return {let.args.size() > 1 ? let.args[1] : Expr(), let.count, let.counted_dim, let.input,
          let.store};
}

} // namespace broadloom
