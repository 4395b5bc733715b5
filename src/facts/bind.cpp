// See bind.hpp.
#include "facts/bind.hpp"

namespace broadloom::facts {

bool is_firm(const spec::TypedSpec &spec, int axis) {
  int inputs = 0;
  bool stretches = false;
  for (const spec::TypedInput &input : spec.inputs)
    for (std::size_t dim = 0; dim < input.axis_of_dim.size(); ++dim)
      if (input.axis_of_dim[dim] == axis) ++inputs, stretches = stretches || input.may_stretch[dim];
  return inputs == 1 || !stretches;
}

int Binder::open_scope(const Scope &scope) {
  if (scope.outer >= 0 && scopes_[std::size_t(scope.outer)].inputs == scope.inputs &&
      scopes_[std::size_t(scope.outer)].known == scope.known)
    return scope.outer;
  for (std::size_t s = 0; s < scopes_.size(); ++s)
    if (scopes_[s] == scope) return int(s);
  scopes_.push_back(scope);
  return int(scopes_.size()) - 1;
}

// The arguments of a node, each in its scope: what is accumulated is an expression of its own;
// init= is one of those around it.
std::vector<Binder::Part> Binder::parts(const Part &whole) {
  const ExprNode &node = *whole.expr.node();
  Scope inner = scopes_[std::size_t(whole.scope)];
  std::size_t within = node.folded; // the arguments that stand in it
  if (within > 0) inner = {read(whole.expr).accumulated, whole.scope, inner.known};
  if (node.kind == ExprKind::Call && !calls_.is_elementwise(node.function->body))
    within = node.args.size(), inner.known = false;
  const int scope = within > 0 ? open_scope(inner) : whole.scope;
  std::vector<Part> parts;
  for (std::size_t k = 0; k < node.args.size(); ++k)
    parts.push_back({node.args[k], k < within ? scope : whole.scope});
  return parts;
}

const Expr *Binder::done(const Part &part) const {
  const auto found = done_.find({part.expr.node(), part.scope});
  return found == done_.end() ? nullptr : &found->second;
}

Expr Binder::bind(const Expr &root) {
  return bind(root, open_scope({read(root).inputs, -1, true}));
}

Expr Binder::bind_part(const Expr &root) {
  return bind(root, open_scope({read(root).inputs, -1, false}));
}

Expr Binder::bind(const Expr &root, int scope) {
  const Part whole{root, scope};
  std::vector<Part> work{whole};
  while (!work.empty()) {
    const Part part = work.back();
    if (done(part)) {
      work.pop_back();
      continue;
    }
    const ExprNode &node = *part.expr.node();
    const bool stays = !read(part.expr).scoped;
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
  if (node.kind == ExprKind::Extent || node.kind == ExprKind::Iota)
    return with_of(node, node.axes[0], lenders(node, part.scope));
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
  if (!scopes_[std::size_t(scope)].known && !is_firm(spec_, axis)) return names;
  for (int s = scope; s >= 0 && names.empty(); s = scopes_[std::size_t(s)].outer)
    for (std::size_t i :
         spec::lenders_of(spec_, reads_.members(scopes_[std::size_t(s)].inputs), axis))
      names.push_back(spec_.inputs[i].name);
  return names;
}

} // namespace broadloom::facts
