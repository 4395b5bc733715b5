// See modes.hpp.
#include "grad/modes.hpp"

#include "grad/shape.hpp"

#include <algorithm>

namespace broadloom::grad {
namespace {

// A mode takes no window: sum(.., like=x[i + 1]) stays.
bool is_sum_like_inputs(const SpecData &data, const ExprNode &node) {
  if (node.kind != ExprKind::Fold || node.args.size() != 1) return false;
  const FoldUse &use = *node.use;
  const auto is_whole = [&](const std::string &name) {
    return std::ranges::any_of(
        data.inputs, [&](const auto &decl) { return decl->name == name && !decl->window; });
  };
  return use.accumulator.fold() == Fold::Sum && !use.like.empty() &&
         std::ranges::all_of(use.like, is_whole);
}

// Have all inputs along these axes labels that are never repeated?
bool are_labels(const facts::Facts &facts, expr::AxisSet axes) {
  for (const spec::TypedInput &input : facts.spec().inputs)
    for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d)
      if (axes.has(input.axis_of_dim[d]) && (!input.labelled || input.may_stretch[d])) return false;
  return true;
}

// Are both as long as the label of the axis, at every call?
bool are_whole(facts::Facts &facts, const InputNames &like, const Expr &value, int axis) {
  return are_labels(facts, expr::AxisSet::of(axis)) ||
         (has_label(facts, like, axis) && has_label(facts, facts.lenders(value, axis), axis));
}

} // namespace

void write_as_modes(SpecData &data, std::size_t first, bool has_arrays) {
  std::optional<facts::Facts> facts;
  const auto kind_of = [&](const FoldUse &use, const Expr &value) {
    if (has_arrays) return ModeKind::reduce;
    if (!facts) facts.emplace(data, std::vector<std::string>());
    facts->add(value);
    const expr::AxisSet axes = facts->axes(value),
                        wanted = facts->axes_like(use.like, value.node()->where);
    if (!wanted.contains(axes)) return ModeKind::reduce;
    if (axes == wanted) {
      for (const int axis : axes)
        if (!are_whole(*facts, use.like, value, axis)) return ModeKind::reduce;
      return ModeKind::plain;
    }
    if (!are_labels(*facts, wanted)) return ModeKind::reduce;
    expr::AxisSet all; // broadcast has the axes of all inputs that are read
    for (const std::size_t input : facts->inputs(value))
      all = all | facts->spec().inputs[input].axes();
    return wanted.contains(all) ? ModeKind::broadcast : ModeKind::reduce;
  };
  for (std::size_t k = first; k < data.outputs.size(); ++k) {
    OutputDecl &output = data.outputs[k];
    const Expr value = output.value; // holds the node
    const ExprNode &node = *value.node();
    if (output.mode.kind != ModeKind::plain || output.at || !is_sum_like_inputs(data, node))
      continue;
    output.value = node.args[0];
    output.mode.kind = kind_of(*node.use, output.value);
    if (output.mode.kind != ModeKind::plain) output.mode.use = *node.use;
  }
}

Expr without_mode(const OutputDecl &output) {
  if (output.mode.use.like.empty()) return output.value;
  return make_fold(output.mode.use, {output.value}, {}, output.value.node()->where);
}

} // namespace broadloom::grad
