// See sweep.hpp.
#include "grad/sweep.hpp"

#include "grad/order.hpp"
#include "grad/shape.hpp"
#include "spec/definition.hpp"
#include "support/check.hpp"
#include "support/fail.hpp"

namespace broadloom::grad {

using support::fail;

namespace {

// The parts of a call are its arguments and what it is by its body, which may be empty.
template <class Body> auto with_body(Body body) {
  return [body](const Expr &expr) {
    std::vector<Expr> parts = expr.node()->args;
    const ExprKind kind = expr.node()->kind;
    if (kind == ExprKind::Call || kind == ExprKind::Fold) parts.push_back(body(expr));
    return parts;
  };
}

} // namespace

void check_elementwise(facts::Facts &facts, const FunctionDecl &function,
                       const FunctionDecl::Derivative &clause) {
  if (facts.calls().is_elementwise(clause.value)) return;
  const std::string &by = function.params[clause.param].node()->name;
  fail("E0601",
       "an accumulator calls '" + function.name + "', and its derivative by '" + by +
           "' is not elementwise",
       facts.space().shown(clause.where),
       "make the derivative elementwise, or give the accumulator a function of its own");
}

void fail_no_rule(facts::Facts &facts, const std::string &what, const Place &where) {
  fail("E0601", what + " has no derivative", facts.space().shown(where),
       "take the gradient of outputs that do not need it, or leave the input out of wrt");
}

void Sweep::seed(const Expr &root, const Expr &g) {
  roots_.push_back(root);
  flow(root, {g, {}}, facts::Terms(root.node()->where));
}

const Cotangent *Sweep::at(const ExprNode *node) const {
  const auto found = cotangents_.find(node);
  return found == cotangents_.end() || !found->second.value.node() ? nullptr : &found->second;
}

void Sweep::flow(const Expr &into, Cotangent cotangent, const facts::Terms &t) {
  if (!cotangent.value.node() || !facts_.depends(into)) return;
  if (!facts_.is_continuous(into)) return check_integer(facts_, into);
  cotangent.value = counted(into, cotangent.value, t);
  const Acc acc = acc_of_visited();
  const auto note = [&](auto &accs, const auto &key) {
    const auto [it, first] = accs.try_emplace(key, acc);
    if (!first && it->second != acc) it->second.reset();
  };
  if (into.node()->kind == ExprKind::Input) {
    note(acc_of_input_, into.node()->input->name);
    return inputs_[into.node()->input->name].push_back(cotangent.value);
  }
  note(accs_, into.node());
  cotangent.mask = any_over(cotangent.mask, facts_.axes(cotangent.mask) - facts_.axes(into), t);
  if (const expr::AxisSet extra = facts_.axes(cotangent.value) - facts_.axes(into); !extra.empty())
    cotangent.value = make_fold(sum_in(acc, facts_.dtype(into)), {cotangent.value},
                                facts_.axis_refs(extra), t.place());
  auto [it, fresh] = cotangents_.try_emplace(into.node(), cotangent);
  if (fresh) return;
  const Cotangent old = it->second;
  it->second = sum(alike(into, old, cotangent.value, t), alike(into, cotangent, old.value, t), t);
}

// That of the fold that is visited, or of the last one that led here.
Sweep::Acc Sweep::acc_of_visited() const {
  if (!visited_.node()) return std::nullopt; // a seed
  if (visited_.node()->kind == ExprKind::Fold) return visited_.node()->use->acc;
  const auto found = accs_.find(visited_.node());
  return found == accs_.end() ? std::nullopt : found->second;
}

// A sum of such values, in that type where it loses none of their digits.
FoldUse Sweep::sum_in(Acc acc, DType type) {
  FoldUse use;
  if (acc && is_complex(*acc) == is_complex(type) && size_of(*acc) >= size_of(type)) use.acc = acc;
  return use;
}

FoldUse Sweep::sum_into_input(const InputDecl &input) {
  return sum_in(acc_of_input_[input.name], input.dtype);
}

Expr Sweep::any_over(const Expr &mask, expr::AxisSet axes, const facts::Terms &t) {
  if (!mask.node()) return mask;
  const expr::AxisSet folded = facts_.axes(mask) & axes;
  if (folded.empty()) return mask;
  FoldUse use;
  use.accumulator = Accumulator(Fold::Any);
  return make_fold(use, {mask}, facts_.axis_refs(folded), t.place());
}

// Along an axis of the user that neither the argument nor the value has, equal values meet: as many
// as the user has positions.
Expr Sweep::counted(const Expr &into, const Expr &value, const facts::Terms &t) {
  if (!visited_.node()) return value; // a seed
  const ExprNode &user = *visited_.node();
  // What is summed through a window is repeated along the axes of the window, and not along those
  // of the sum.
  const InputDecl *window = user.use ? facts_.window_called(user.use->like) : nullptr;
  expr::AxisSet repeated = window ? expr::AxisSet() : facts_.axes(visited_);
  if (window) repeated = repeated | expr::AxisSet::of(facts_.dims(*window));
  expr::AxisSet lacks = repeated - facts_.axes(into) - facts_.axes(value);
  if (user.kind == ExprKind::Scan)
    lacks = lacks - expr::AxisSet::of(facts_.space().axis(user.axes[0], user.where));
  Expr made = value;
  for (const int axis : lacks) {
    const DType type = facts_.dtype(visited_);
    const bool wide = type == DType::F64 || type == DType::C128;
    const Expr extent = window ? make_extent(facts_.axis_ref(axis), {window->name}, t.place())
                               : facts_.extent(visited_, axis, t);
    made = t.mul(made, make_cast(wide ? DType::F64 : DType::F32, extent, t.place()));
  }
  return made;
}

// A cotangent whose extent along an axis may be greater than its node's, where that is 1, and
// another than that of the other one: it is summed to the shape of the node, or, where that cannot
// be said, all of it is put at position 0, so that what has extent 1 and is repeated when it is
// added to the other counts once.
Cotangent Sweep::alike(const Expr &node, const Cotangent &cotangent, const Expr &other,
                       const facts::Terms &t) {
  Cotangent made = cotangent;
  const expr::AxisSet equal = axes_alike(facts_, cotangent.value, other);
  expr::AxisSet differ;
  for (const int axis : facts_.axes(node) - equal)
    if (facts_.may_be_repeated(node, axis)) differ = differ | expr::AxisSet::of(axis);
  if (differ.empty()) return made;
  if (const auto shape = shape_of(facts_, node)) return in_shape(*shape, cotangent, t);
  for (const int axis : differ) {
    const Expr position = facts_.index(t.add(cotangent.value, other), axis, t);
    const Expr single = t.op(ops::Op::Eq, {facts_.extent(node, axis, t), t.num(1)});
    made = at_start(made, single, position, axis, t);
  }
  return made;
}

Cotangent Sweep::at_start(const Cotangent &cotangent, const Expr &single, const Expr &position,
                          int axis, const facts::Terms &t) {
  const expr::AxisSet along = expr::AxisSet::of(axis);
  const Expr total = facts_.axes(cotangent.value).has(axis)
                         ? make_fold({}, {cotangent.value}, {facts_.axis_ref(axis)}, t.place())
                         : cotangent.value;
  const Expr first = t.op(ops::Op::Eq, {position, t.num(0)});
  Cotangent made = cotangent;
  made.value = t.where(single, t.where(first, total), cotangent.value);
  if (made.mask.node())
    made.mask = t.either(made.mask, t.both(single, any_over(made.mask, along, t)));
  return made;
}

void Sweep::run() {
  const std::vector<Expr> order =
      in_order(roots_, with_body([&](const Expr &expr) { return body_of(expr); }));
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
  case ExprKind::Parameter: return;
  case ExprKind::Call: return visit_call(self, g);
  case ExprKind::Let: return flow(node.args[0], g, facts::Terms(node.where));
  case ExprKind::Cast: return visit_cast(node, g);
  case ExprKind::Op: return visit_op(node, self, g);
  case ExprKind::Fold:
    if (const Expr rows = body_of(self); rows.node())
      return flow(rows, g, facts::Terms(node.where));
    return pull_fold(*this, self, g);
  case ExprKind::Scan: return pull_scan(*this, self, g);
  case ExprKind::Join: support::bug("gradient: a join is no expression of a kernel that was split");
  }
}

void Sweep::visit_op(const ExprNode &node, const Expr &self, const Cotangent &g) {
  const facts::Terms t(node.where);
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
  const facts::Terms t(node.where);
  const Expr &arg = node.args[0];
  if (!facts_.depends(arg)) return;
  Cotangent out = g;
  if (is_complex(node.dtype) && !facts_.is_complex(arg)) out.value = t.op(ops::Op::Real, {g.value});
  flow(arg, out, t);
}

// By the clauses of the function, or through its body. Where a clause mixes elements, it meets g in
// full, and those outside of g's mask may get something from those inside.
void Sweep::visit_call(const Expr &self, const Cotangent &g) {
  const ExprNode &node = *self.node();
  const facts::Terms t(node.where);
  bool complex = facts_.is_complex(self);
  for (const Expr &arg : node.args) complex = complex || facts_.is_complex(arg);
  const bool lacks = !(facts_.axes(self) - facts_.axes(g.value)).empty();
  const Expr whole = lacks ? repeated_like(self, g.value, t) : g.value;
  for (std::size_t k = 0; k < node.args.size(); ++k) {
    const Expr &arg = node.args[k];
    const FunctionDecl::Derivative *clause = facts::Calls::clause(*node.function, k);
    if (!clause || facts::Calls::is_zero(*clause) || !facts_.depends(arg)) continue;
    const bool elementwise = facts_.calls().is_elementwise(clause->value);
    if (!elementwise) check_mixed(self, *clause);
    Expr value = facts_.calls().by_clause(node, *clause, elementwise ? g.value : whole);
    if (complex && !facts_.is_complex(arg)) value = t.op(ops::Op::Real, {value});
    if (!facts_.is_firm(facts_.axes(arg) - facts_.axes(value)))
      value = repeated_like(arg, value, t);
    const Cotangent pulled{value, {}};
    visited_ = elementwise ? self : arg; // a clause that mixes elements has counted them
    flow(arg, elementwise ? masked(pulled, g, t) : pulled, t);
  }
  visited_ = self;
  if (const Expr body = facts_.by_body(self); body.node()) flow(body, g, t);
}

// What was repeated at a call has come together at the inputs only: a clause that mixes elements
// before would mix repetitions, too.
void Sweep::check_mixed(const Expr &self, const FunctionDecl::Derivative &clause) {
  for (const int axis : facts_.axes(self))
    if (facts_.may_be_repeated(self, axis))
      fail("E0601",
           "a derivative clause of '" + self.node()->function->name +
               "' mixes elements, and its value may be a 1 that is repeated along axis " +
               facts_.space().axis_name(axis),
           facts_.space().shown(clause.where), "label the axes of the inputs");
}

// Something would flow back into an integer or a bool. Comparisons are flat, and that is that; but
// where a float became an integer, or an index was found, a derivative of 0 would be a lie.
void check_integer(facts::Facts &facts, const Expr &root) {
  std::vector<Expr> work{root};
  std::unordered_set<const ExprNode *> seen;
  while (!work.empty()) {
    const Expr expr = work.back();
    work.pop_back();
    const ExprNode &node = *expr.node();
    if (!seen.insert(&node).second || !facts.depends(expr)) continue;
    if (facts.dtype(expr) == DType::Bool) continue;
    if (node.kind == ExprKind::Cast && facts.is_continuous(node.args[0]))
      fail("E0602",
           "nothing flows back through the cast from " +
               std::string(name(facts.dtype(node.args[0]))) + " to " +
               std::string(name(node.dtype)),
           facts.space().shown(node.where),
           "an integer has no derivative: keep the value a float, as floor() does");
    if (node.kind == ExprKind::Call)
      for (const Expr &arg : node.args)
        if (facts.depends(arg) && facts.is_continuous(arg))
          fail("E0602",
               "nothing flows back through '" + node.function->name + "', which gives " +
                   std::string(name(facts.dtype(expr))),
               facts.space().shown(node.where),
               "an integer has no derivative: let the function give a float, as floor() does");
    if ((node.kind == ExprKind::Fold || node.kind == ExprKind::Scan) &&
        facts.is_continuous(node.args[0])) {
      bool moves = false; // a count of steps does not
      for (std::size_t k = 0; k < node.folded; ++k) moves = moves || moves_result(facts, expr, k);
      if (!moves) continue;
      fail_no_rule(facts, "'" + std::string(spec::name_of(node.use->accumulator)) + "'",
                   node.where);
    }
    for (const Expr &arg : node.args) work.push_back(arg);
  }
}

std::unordered_map<std::string, Expr> pull_defined(facts::Facts &facts, const Expr &root,
                                                   const Expr &seed) {
  facts::Calls &calls = facts.calls();
  const std::vector<Expr> order =
      in_order({root}, with_body([&](const Expr &call) { return calls.by_body(call); }));
  std::unordered_map<const ExprNode *, Cotangent> cotangents{{root.node(), {seed, {}}}};
  std::unordered_map<std::string, Expr> result;
  for (std::size_t n = order.size(); n-- > 0;) {
    const ExprNode &node = *order[n].node();
    const auto found = cotangents.find(&node);
    if (found == cotangents.end()) continue;
    const Cotangent g = found->second;
    const facts::Terms t(node.where);
    const auto flow = [&](const Expr &into, const Cotangent &c) {
      if (calls.is_constant(into.node())) return;
      auto [it, fresh] = cotangents.try_emplace(into.node(), c);
      if (!fresh) it->second = sum(it->second, c, t);
    };
    if (node.kind == ExprKind::Parameter) result[node.name] = t.add(result[node.name], g.value);
    if (node.kind == ExprKind::Cast || node.kind == ExprKind::Let) flow(node.args[0], g);
    if (node.kind == ExprKind::Call) {
      for (std::size_t k = 0; k < node.args.size(); ++k) {
        const FunctionDecl::Derivative *clause = facts::Calls::clause(*node.function, k);
        if (!clause || facts::Calls::is_zero(*clause)) continue;
        check_elementwise(facts, *node.function, *clause);
        flow(node.args[k], masked({calls.by_clause(node, *clause, g.value), {}}, g, t));
      }
      if (const Expr body = calls.by_body(order[n]); body.node()) flow(body, g);
    }
    if (node.kind != ExprKind::Op) continue;
    const std::vector<bool> real(node.args.size() + 1, false);
    for (std::size_t k = 0; k < node.args.size(); ++k) {
      const auto pulled = pull(node.op, node.args, order[n], g.value, k, real, t);
      if (pulled && pulled->value.node()) flow(node.args[k], masked(*pulled, g, t));
    }
  }
  for (auto &[name, value] : result) value = calls.restored(value);
  return result;
}

} // namespace broadloom::grad
