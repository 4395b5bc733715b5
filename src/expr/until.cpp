// See until.hpp.
#include "expr/until.hpp"

#include "expr/window.hpp"
#include "support/fail.hpp"

namespace broadloom {

Expr steps_taken(const Expr &done, const Place &where) {
  const std::string axis = done.node()->name + "_0"; // of its own (spec::own_axis)
  const auto number = [&](std::int64_t value) {
    return make_literal({Number::Kind::Int, value, 0, false}, where);
  };
  const Expr at = make_window(done, {AffineForm{0, {{axis, 1}}, {}}}, where);
  const auto folded = [&](Fold fold, const Expr &value) {
    FoldUse use;
    use.accumulator = Accumulator(fold);
    return make_fold(use, {value}, {axis}, where);
  };
  const auto either = [&](const Expr &condition, std::int64_t yes, std::int64_t no) {
    return make_op(ops::Op::Where, {condition, number(yes), number(no)}, where);
  };
  const Expr before = folded(Fold::Sum, either(at, 0, 1));
  return make_op(ops::Op::Add, {before, either(folded(Fold::Any, at), 1, 0)}, where);
}

Until::Until(std::string name, const std::string &axis, const Operand &condition, UntilSteps steps)
    : name_(std::move(name)), axis_(axis), back_(steps.backwards ? 1 : -1) {
  const Place where = place_of(condition.where());
  const Expr before =
      make_window(make_ahead(name_, where), {AffineForm{back_, {{axis_, 1}}, {}}}, where);
  LetSteps counted;
  if (steps.count != -1) {
    counted.axis = axis_;
    counted.count = steps.count;
  }
  const Expr done = make_op(ops::Op::Or, {before, condition.expr()}, where);
  done_ = let(name_, {axis_}, Operand(done, condition.where()), std::move(counted));
}

Expr Until::held(const std::string &let, const std::vector<AxisRef> &axes,
                 const Operand &value) const {
  const Place where = place_of(value.where());
  std::vector<AffineForm> forms;
  bool has_axis = false;
  for (const AxisRef &axis : axes) {
    const auto *label = std::get_if<std::string>(&axis.value());
    if (label == nullptr)
      support::fail("E0028", "let '" + let + "' goes along a dim by number", where,
                    "list its dims by names");
    const bool steps = *label == axis_;
    has_axis = has_axis || steps;
    forms.push_back({steps ? back_ : 0, {{*label, 1}}, {}});
  }
  if (!has_axis)
    support::fail("E0028",
                  "let '" + let + "' has no axis '" + axis_ + "', along which '" + name_ +
                      "' says that it ends",
                  where, "list that axis among its dims");
  const Expr done = make_window(done_, {AffineForm{back_, {{axis_, 1}}, {}}}, where);
  const Expr self = make_window(make_ahead(let, where), std::move(forms), where);
  return make_op(ops::Op::Where, {done, self, value.expr()}, where);
}

Expr Until::steps(std::source_location where) const { return steps_taken(done_, place_of(where)); }

} // namespace broadloom
