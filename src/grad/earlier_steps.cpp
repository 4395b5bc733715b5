// See earlier_steps.hpp.
#include "grad/earlier_steps.hpp"

#include "facts/terms.hpp"

namespace broadloom::grad {

std::optional<Number> number_of(const Expr &expr) {
  bool negated = false;
  const ExprNode *node = expr.node();
  for (; node->kind == ExprKind::Op && node->op == ops::Op::Neg; node = node->args[0].node())
    negated = !negated;
  if (node->kind != ExprKind::Literal) return std::nullopt;
  Number number = node->number;
  if (negated) number.integer = -number.integer, number.real = -number.real;
  return number;
}

namespace {
bool starts_as_array(const SteppedLet &of) { return of.start.node() && !number_of(of.start); }
} // namespace

Expr EarlierSteps::read(const SteppedLet &of, std::int64_t lag, Window at, const Place &where) {
  if (lag == 0) return make_window_like(of.let, at, where);
  if (!starts_as_array(of) && !of.counts_steps) return shifted(of, lag, std::move(at), where);
  const auto [known, fresh] = before_.try_emplace({name_of_array(of.let), lag}, Expr());
  if (fresh) known->second = before(of, lag, where);
  return make_window_like(known->second, at, where);
}

// pad(h, 0: (c, 0))[t, k], or pad(h, 0: (0, c))[t + c, k].
Expr EarlierSteps::shifted(const SteppedLet &of, std::int64_t lag, Window at,
                           const Place &where) const {
  DimPad pad; // before those of the window, which pad the rows of the start, too
  pad.dim = of.dim;
  (of.backwards ? pad.after : pad.before) = lag;
  if (of.start.node())
    if (const std::optional<Number> number = number_of(of.start)) pad.value = *number;
  if (of.backwards) at.forms[of.dim].constant = lag;
  at.pads.insert(at.pads.begin(), pad);
  return make_window_like(of.let, at, where);
}

Expr EarlierSteps::before(const SteppedLet &of, std::int64_t lag, const Place &where) {
  const facts::Terms t(where);
  const std::string name = uses_.named(make_window(of.let, spec::along(of.axes), where));
  const AxisRef axis(of.axes[of.dim]);
  Number steps_back;
  steps_back.integer = lag;
  const Expr number = make_literal(steps_back, where), step = make_iota(axis, {name}, where);
  Expr is_start;
  if (of.backwards) {
    const Expr steps = make_extent(axis, {name}, where);
    const Expr first = t.sub(steps, number);
    is_start = t.op(ops::Op::Ge, {step, first});
  } else {
    is_start = t.op(ops::Op::Lt, {step, number});
  }
  std::vector<std::string> left;
  for (const std::size_t dim : of.start_dims) left.push_back(of.axes[dim]);
  Expr begins = of.start;
  if (!begins.node())
    begins = make_literal(Number(), where);
  else if (starts_as_array(of))
    begins =
        left.empty() ? of.start.node()->args[0] : make_window(of.start, spec::along(left), where);
  Window whole;
  whole.forms = spec::along(of.axes);
  const Expr other = shifted(of, lag, std::move(whole), where);
  const Expr value = t.where(is_start, begins, other);
  Expr made = make_let(uses_.fresh(name_of_array(of.let) + "_" + std::to_string(lag)), value, where,
                       {of.axes.begin(), of.axes.end()});
  uses_.add(of, made);
  return made;
}

} // namespace broadloom::grad
