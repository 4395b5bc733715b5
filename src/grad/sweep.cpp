// See sweep.hpp.
#include "grad/sweep.hpp"

#include "spec/definition.hpp"
#include "support/fail.hpp"

#include <algorithm>

namespace broadloom::grad {

using support::fail;

namespace {

// All expressions that the roots are made of, arguments before their users.
std::vector<Expr> in_order(const std::vector<Expr> &roots) {
  // The walker hands out nodes; their handles come from their users.
  std::unordered_map<const ExprNode *, Expr> handles;
  std::vector<const ExprNode *> nodes;
  expr::Walker walker;
  for (const Expr &root : roots) {
    handles.emplace(root.node(), root);
    walker.walk(root.node(), [&](const ExprNode &node) {
      nodes.push_back(&node);
      for (const Expr &arg : node.args) handles.emplace(arg.node(), arg);
    });
  }
  std::vector<Expr> order;
  for (const ExprNode *node : nodes) order.push_back(handles.at(node));
  return order;
}

} // namespace

void fail_no_rule(Facts &facts, const std::string &what, const Place &where) {
  fail("E0601", what + " has no derivative", facts.space().shown(where),
       "take the gradient of outputs that do not need it, or leave the input out of wrt");
}

void Sweep::seed(const Expr &root, const Expr &g) {
  roots_.push_back(root);
  flow(root, {g, {}}, Terms(root.node()->where));
}

const Cotangent *Sweep::at(const ExprNode *node) const {
  const auto found = cotangents_.find(node);
  return found == cotangents_.end() || !found->second.value.node() ? nullptr : &found->second;
}

Expr repeated_like(const Expr &other, const Expr &value, const Terms &t) {
  return t.where(t.op(ops::Op::IsNan, {other}), value, value);
}

void Sweep::flow(const Expr &into, Cotangent cotangent, const Terms &t) {
  if (!cotangent.value.node() || !facts_.depends(into)) return;
  if (!facts_.is_continuous(into)) return check_integer(into);
  cotangent.value = counted(into, cotangent.value, t);
  if (into.node()->kind == ExprKind::Input)
    return inputs_[into.node()->input->name].push_back(cotangent.value);
  const auto fold = [&](Fold with, const Expr &value) {
    const AxisSet extra = facts_.axes(value) - facts_.axes(into);
    FoldUse use;
    use.accumulator = Accumulator(with);
    return extra.empty() ? value : make_fold(use, {value}, facts_.axis_refs(extra), t.place());
  };
  cotangent.value = fold(Fold::Sum, cotangent.value);
  if (cotangent.mask.node()) cotangent.mask = fold(Fold::Any, cotangent.mask);
  auto [it, fresh] = cotangents_.try_emplace(into.node(), cotangent);
  if (!fresh) it->second = sum(alike(into, it->second, t), alike(into, cotangent, t), t);
}

// Along an axis of the user that neither the argument nor the value has, equal values meet: as many as the
// user has positions.
Expr Sweep::counted(const Expr &into, const Expr &value, const Terms &t) {
  if (!visited_.node()) return value; // a seed
  const ExprNode &user = *visited_.node();
  AxisSet lacks = facts_.axes(visited_) - facts_.axes(into) - facts_.axes(value);
  if (user.kind == ExprKind::Scan)
    lacks = lacks - AxisSet::of(facts_.space().axis(user.axes[0], user.where));
  Expr made = value;
  for (int axis = 0; axis < expr::max_axes; ++axis)
    if (lacks.has(axis)) {
      const DType type = facts_.dtype(visited_);
      const bool wide = type == DType::F64 || type == DType::C128;
      made = t.mul(made, make_cast(wide ? DType::F64 : DType::F32, facts_.extent(visited_, axis, t),
                                   t.place()));
    }
  return made;
}

// A cotangent whose extent along an axis may be greater than its node's, where that is 1: all of it is put at
// position 0, so that what has extent 1 and is repeated when the two are added counts once.
Cotangent Sweep::alike(const Expr &node, const Cotangent &cotangent, const Terms &t) {
  Cotangent made = cotangent;
  for (int axis = 0; axis < expr::max_axes; ++axis) {
    if (!facts_.axes(node).has(axis) || !facts_.may_be_repeated(node, axis)) continue;
    const auto along = [&](Fold with, const Expr &value) {
      FoldUse use;
      use.accumulator = Accumulator(with);
      return facts_.axes(value).has(axis)
                 ? make_fold(use, {value}, {facts_.axis_ref(axis)}, t.place())
                 : value;
    };
    const Expr at_start =
        t.op(ops::Op::Eq, {make_iota(facts_.axis_ref(axis), {}, t.place()), t.num(0)});
    const Expr single = t.op(ops::Op::Eq, {facts_.extent(node, axis, t), t.num(1)});
    made.value = t.where(single, t.where(at_start, along(Fold::Sum, made.value)), made.value);
    if (made.mask.node())
      made.mask = t.either(made.mask, t.both(single, along(Fold::Any, made.mask)));
  }
  return made;
}

void Sweep::run() {
  const std::vector<Expr> order = in_order(roots_);
  for (std::size_t k = order.size(); k-- > 0;) visit(order[k]);
}

void Sweep::visit(const Expr &self) {
  const Cotangent *found = at(self.node());
  if (!found) return;
  const Cotangent g = *found; // the map grows below
  const ExprNode &node = *self.node();
  visited_ = self;
  switch (node.kind) {
  case ExprKind::Input:
  case ExprKind::Literal:
  case ExprKind::Extent:
  case ExprKind::Iota:
  case ExprKind::Parameter:
  case ExprKind::Call: return; // calls were written out
  case ExprKind::Let: return flow(node.args[0], g, Terms(node.where));
  case ExprKind::Cast: return visit_cast(node, g);
  case ExprKind::Op: return visit_op(node, self, g);
  case ExprKind::Fold: return pull_fold(*this, self, g);
  case ExprKind::Scan: return pull_scan(*this, self, g);
  }
}

void Sweep::visit_op(const ExprNode &node, const Expr &self, const Cotangent &g) {
  const Terms t(node.where);
  std::vector<bool> complex;
  for (const Expr &arg : node.args) complex.push_back(facts_.is_complex(arg));
  complex.push_back(facts_.is_complex(self));
  for (std::size_t k = 0; k < node.args.size(); ++k) {
    if (!facts_.depends(node.args[k])) continue;
    const std::optional<Cotangent> pulled = pull(node.op, node.args, self, g.value, k, complex, t);
    if (!pulled)
      fail_no_rule(facts_, "'" + std::string(ops::info(node.op).spelling) + "'", node.where);
    if (!pulled->value.node()) continue;
    flow(node.args[k], masked(*pulled, g, t), t);
  }
}

void Sweep::visit_cast(const ExprNode &node, const Cotangent &g) {
  const Terms t(node.where);
  const Expr &arg = node.args[0];
  if (!facts_.depends(arg)) return;
  Cotangent out = g;
  if (is_complex(node.dtype) && !facts_.is_complex(arg)) out.value = t.op(ops::Op::Real, {g.value});
  flow(arg, out, t);
}

// Something would flow back into an integer or a bool. Comparisons are flat, and that is that; but where a
// float became an integer, or an index was found, a derivative of 0 would be a lie.
void Sweep::check_integer(const Expr &root) {
  std::vector<Expr> work{root};
  std::unordered_set<const ExprNode *> seen;
  while (!work.empty()) {
    const Expr expr = work.back();
    work.pop_back();
    const ExprNode &node = *expr.node();
    if (!seen.insert(&node).second || !facts_.depends(expr)) continue;
    if (facts_.dtype(expr) == DType::Bool) continue;
    if (node.kind == ExprKind::Cast && facts_.is_continuous(node.args[0]))
      fail("E0602",
           "nothing flows back through the cast from " +
               std::string(name(facts_.dtype(node.args[0]))) + " to " +
               std::string(name(node.dtype)),
           facts_.space().shown(node.where),
           "an integer has no derivative: keep the value a float, as floor() does");
    if ((node.kind == ExprKind::Fold || node.kind == ExprKind::Scan) &&
        facts_.is_continuous(node.args[0]))
      fail_no_rule(facts_, "'" + std::string(spec::name_of(node.use->accumulator)) + "'",
                   node.where);
    for (const Expr &arg : node.args) work.push_back(arg);
  }
}

std::unordered_map<std::string, Expr> pull_defined(const Expr &root, const Expr &seed) {
  const std::vector<Expr> order = in_order({root});
  std::unordered_map<const ExprNode *, Cotangent> cotangents{{root.node(), {seed, {}}}};
  std::unordered_map<std::string, Expr> result;
  for (std::size_t n = order.size(); n-- > 0;) {
    const ExprNode &node = *order[n].node();
    const auto found = cotangents.find(&node);
    if (found == cotangents.end()) continue;
    const Cotangent g = found->second;
    const Terms t(node.where);
    const auto flow = [&](const Expr &into, const Cotangent &c) {
      auto [it, fresh] = cotangents.try_emplace(into.node(), c);
      if (!fresh) it->second = sum(it->second, c, t);
    };
    if (node.kind == ExprKind::Parameter) result[node.name] = t.add(result[node.name], g.value);
    if (node.kind == ExprKind::Cast || node.kind == ExprKind::Let) flow(node.args[0], g);
    if (node.kind != ExprKind::Op) continue;
    const std::vector<bool> real(node.args.size() + 1, false);
    for (std::size_t k = 0; k < node.args.size(); ++k) {
      const auto pulled = pull(node.op, node.args, order[n], g.value, k, real, t);
      if (pulled && pulled->value.node()) flow(node.args[k], masked(*pulled, g, t));
    }
  }
  return result;
}

} // namespace broadloom::grad
