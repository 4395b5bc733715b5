// How a node goes: without recursion, however deep what it is made of. See node.hpp.
#include "expr/function.hpp"
#include "expr/window.hpp"

namespace broadloom {

namespace {

// The arrays whose extents stand in the positions of a window that nobody else reads: those of a
// position that has some, or null.
std::vector<AffineForm::Extent> *own_extents(const ExprNode &node) {
  if (!node.input || node.input.use_count() != 1 || !node.input->window ||
      node.input->window.use_count() != 1)
    return nullptr;
  Window &window = const_cast<Window &>(*node.input->window);
  for (AffineForm &form : window.forms)
    if (!form.extents.empty()) return &form.extents;
  return nullptr;
}

// What a dying node holds: its arguments, the arrays above, and the expressions of a function that
// nobody else calls.
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

// A chain of a million nodes must not recurse a million destructors, and a destructor has no memory
// to ask for. So children that nobody else holds are taken apart one after the other, depth first,
// and the way back is kept in the place that the child has left (Schorr and Waite).
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

} // namespace broadloom
