// See modes.hpp.
#include "grad/modes.hpp"

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
  return use.accumulator.fold() == Fold::Sum && !use.acc && !use.like.empty() &&
         std::ranges::all_of(use.like, is_whole);
}

} // namespace

void write_as_modes(SpecData &data, std::size_t first) {
  for (std::size_t k = first; k < data.outputs.size(); ++k) {
    OutputDecl &output = data.outputs[k];
    const Expr value = output.value; // holds the node
    const ExprNode &node = *value.node();
    if (output.mode.kind != ModeKind::plain || output.at || !is_sum_like_inputs(data, node))
      continue;
    output.mode.kind = ModeKind::reduce;
    output.mode.use = *node.use;
    output.value = node.args[0];
  }
}

Expr without_mode(const OutputDecl &output) {
  if (output.mode.kind != ModeKind::reduce || output.mode.use.like.empty()) return output.value;
  return make_fold(output.mode.use, {output.value}, {}, output.value.node()->where);
}

} // namespace broadloom::grad
