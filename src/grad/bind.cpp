// See bind.hpp.
#include "grad/bind.hpp"

namespace broadloom::grad {

int Binder::open_scope(spec::SetId inputs, int outer) {
  if (outer >= 0 && scopes_[std::size_t(outer)].inputs == inputs) return outer;
  for (std::size_t s = 0; s < scopes_.size(); ++s)
    if (scopes_[s].inputs == inputs && scopes_[s].outer == outer) return int(s);
  scopes_.push_back({inputs, outer});
  return int(scopes_.size()) - 1;
}

// The arguments of a node, each in its scope: what is accumulated is an expression of its own; init= is one of
// those around it.
std::vector<Binder::Part> Binder::parts(const Part &whole) {
  const ExprNode &node = *whole.expr.node();
  const int inner =
      node.folded > 0 ? open_scope(read(whole.expr).accumulated, whole.scope) : whole.scope;
  std::vector<Part> parts;
  for (std::size_t k = 0; k < node.args.size(); ++k)
    parts.push_back({node.args[k], k < node.folded ? inner : whole.scope});
  return parts;
}

const Expr *Binder::done(const Part &part) const {
  const auto found = done_.find({part.expr.node(), part.scope});
  return found == done_.end() ? nullptr : &found->second;
}

Expr Binder::bind(const Expr &root) {
  const Part whole{root, open_scope(read(root).inputs, -1)};
  std::vector<Part> work{whole};
  while (!work.empty()) {
    const Part part = work.back();
    if (done(part)) {
      work.pop_back();
      continue;
    }
    const ExprNode &node = *part.expr.node();
    const bool stays = !read(part.expr).scoped ||
                       (node.kind == ExprKind::Call && !calls_.is_elementwise(node.function->body));
    const std::size_t before = work.size();
    if (!stays)
      for (const Part &arg : parts(part))
        if (!done(arg)) work.push_back(arg);
    if (work.size() > before) continue;
    work.pop_back();
    done_.emplace(Key{&node, part.scope}, stays ? part.expr : made(part));
  }
  return *done(whole);
}

Expr Binder::made(const Part &part) {
  const ExprNode &node = *part.expr.node();
  if (node.kind == ExprKind::Extent)
    return make_extent(node.axes[0], lenders(node, part.scope), node.where);
  if (node.kind == ExprKind::Iota)
    return make_iota(node.axes[0], lenders(node, part.scope), node.where);
  std::vector<Expr> args;
  bool changed = false;
  for (const Part &arg : parts(part)) {
    args.push_back(*done(arg));
    changed = changed || args.back().node() != arg.expr.node();
  }
  if (!changed) return part.expr;
  return node.kind == ExprKind::Let ? args[0] : with_args(node, std::move(args));
}

std::vector<std::string> Binder::lenders(const ExprNode &node, int scope) const {
  const int axis = space_.axis(node.axes[0], node.where);
  std::vector<std::string> names;
  for (int s = scope; s >= 0 && names.empty(); s = scopes_[std::size_t(s)].outer)
    for (std::size_t i :
         spec::lenders_of(spec_, reads_.members(scopes_[std::size_t(s)].inputs), axis))
      names.push_back(spec_.inputs[i].name);
  return names;
}

} // namespace broadloom::grad
