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

// What is accumulated is an expression of its own; init= is one of those around it.
Binder::Key Binder::key_of_arg(const ExprNode &node, std::size_t arg, int scope) {
  if (arg < node.folded) scope = open_scope(reads_[node].accumulated, scope);
  return {node.args[arg].node(), scope};
}

Expr Binder::bind(const Expr &root) {
  if (!reads_.scoped(*root.node())) return root;
  const Key whole{root.node(), open_scope(reads_[root].inputs, -1)};
  std::vector<Key> work{whole};
  while (!work.empty()) {
    const auto [node, scope] = work.back();
    const std::size_t before = work.size();
    for (std::size_t k = 0; k < node->args.size(); ++k)
      if (reads_.scoped(*node->args[k].node()))
        if (const Key arg = key_of_arg(*node, k, scope); done_.count(arg) == 0) work.push_back(arg);
    if (work.size() > before) continue;
    work.pop_back();
    if (done_.count({node, scope}) == 0) done_.emplace(Key{node, scope}, made(*node, scope));
  }
  return done_.at(whole);
}

Expr Binder::made(const ExprNode &node, int scope) {
  if (node.kind == ExprKind::Extent)
    return make_extent(node.axes[0], lenders(node, scope), node.where);
  if (node.kind == ExprKind::Iota) return make_iota(node.axes[0], lenders(node, scope), node.where);
  std::vector<Expr> args;
  for (std::size_t k = 0; k < node.args.size(); ++k)
    args.push_back(reads_.scoped(*node.args[k].node()) ? done_.at(key_of_arg(node, k, scope))
                                                       : node.args[k]);
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
