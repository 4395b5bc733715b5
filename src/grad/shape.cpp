// See shape.hpp.
#include "grad/shape.hpp"

#include <algorithm>

namespace broadloom::grad {
namespace {

const spec::TypedInput *input_called(const facts::Facts &facts, const std::string &name) {
  const auto &inputs = facts.spec().inputs;
  const auto found = std::ranges::find(inputs, name, &spec::TypedInput::name);
  return found == inputs.end() ? nullptr : &*found;
}

bool can_be_named(const spec::TypedInput &input) {
  return !input.window && !input.materialised && !input.is_lent() && !input.in_windows_only;
}

bool contains(const InputNames &all, const InputNames &some) {
  return std::ranges::all_of(
      some, [&](const std::string &name) { return std::ranges::count(all, name) != 0; });
}

bool is_sum_like(const Expr &value, const InputNames &shape) {
  const ExprNode &node = *value.node();
  return node.kind == ExprKind::Fold && node.use->accumulator.fold() == Fold::Sum &&
         node.use->like == shape;
}

} // namespace

bool has_label(const facts::Facts &facts, const InputNames &names, int axis) {
  return std::ranges::any_of(facts.spec().inputs, [&](const spec::TypedInput &input) {
    if (!input.labelled || std::ranges::count(names, input.name) == 0) return false;
    for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d)
      if (input.axis_of_dim[d] == axis && !input.may_stretch[d]) return true;
    return false;
  });
}

std::optional<InputNames> shape_of(facts::Facts &facts, const Expr &expr) {
  const expr::AxisSet axes = facts.axes(expr);
  InputNames shape;
  std::vector<std::pair<int, InputNames>> lenders;
  for (const int axis : axes) {
    lenders.emplace_back(axis, facts.lenders(expr, axis));
    for (const std::string &name : lenders.back().second)
      if (std::ranges::count(shape, name) == 0) shape.push_back(name);
  }
  for (const auto &[axis, names] : lenders)
    if (names.empty()) return std::nullopt;
  for (const std::string &name : shape) {
    const spec::TypedInput *input = input_called(facts, name);
    if (input == nullptr || !can_be_named(*input) || !axes.contains(input->axes()))
      return std::nullopt;
    for (const auto &[axis, names] : lenders)
      if (input->axes().has(axis) && std::ranges::count(names, name) == 0 &&
          !facts.is_firm(expr::AxisSet::of(axis)) &&
          !(input->labelled && has_label(facts, names, axis)))
        return std::nullopt; // it would lend an extent that the value has not
  }
  if (shape.empty()) return std::nullopt;
  return shape;
}

expr::AxisSet axes_shown(facts::Facts &facts, const Expr &expr, const Expr &other) {
  expr::AxisSet shown;
  for (const int axis : facts.axes(expr) & facts.axes(other)) {
    const InputNames own = facts.lenders(expr, axis);
    if (!own.empty() && contains(facts.lenders(other, axis), own))
      shown = shown | expr::AxisSet::of(axis);
  }
  return shown;
}

expr::AxisSet axes_alike(facts::Facts &facts, const Expr &a, const Expr &b) {
  const expr::AxisSet either = facts.axes(a) | facts.axes(b);
  expr::AxisSet alike = expr::every_axis - either;
  for (const int axis : facts.axes(a) & facts.axes(b)) {
    const InputNames of_a = facts.lenders(a, axis), of_b = facts.lenders(b, axis);
    if (!of_a.empty() && contains(of_a, of_b) && contains(of_b, of_a))
      alike = alike | expr::AxisSet::of(axis);
  }
  return alike;
}

Expr repeated_like(const Expr &other, const Expr &value, const facts::Terms &t) {
  return t.where(t.op(ops::Op::IsNan, {other}), value, value);
}

Cotangent in_shape(const InputNames &shape, const Cotangent &cotangent, const facts::Terms &t) {
  Cotangent made = cotangent;
  FoldUse use;
  use.like = shape;
  if (!is_sum_like(cotangent.value, shape))
    made.value = make_fold(use, {cotangent.value}, {}, t.place());
  use.accumulator = Accumulator(Fold::Any);
  if (made.mask.node()) made.mask = make_fold(use, {made.mask}, {}, t.place());
  return made;
}

Cotangent repeated_in(facts::Facts &facts, const Expr &expr, const Cotangent &cotangent,
                      const facts::Terms &t) {
  if (axes_shown(facts, expr, cotangent.value) == facts.axes(expr)) return cotangent;
  // What expr lacks is left to what takes the cotangent: it counts how often a value was repeated.
  const bool fits =
      facts.axes(expr).contains(facts.axes(cotangent.value)) &&
      (!cotangent.mask.node() || facts.axes(expr).contains(facts.axes(cotangent.mask)));
  if (const auto shape = shape_of(facts, expr); shape && fits)
    return in_shape(*shape, cotangent, t);
  return {repeated_like(expr, cotangent.value, t), cotangent.mask};
}

} // namespace broadloom::grad
