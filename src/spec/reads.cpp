// See reads.hpp.
#include "spec/reads.hpp"

#include "support/check.hpp"
#include "support/fail.hpp"

namespace broadloom::spec {

void Reads::add(const Expr &root) {
  walker_.walk(root.node(), [&](const ExprNode &node) { reads_.emplace(&node, read(node)); });
}

Read Reads::read(const ExprNode &node) {
  Read result;
  switch (node.kind) {
  case ExprKind::Literal: return result;
  case ExprKind::Input: {
    std::uint32_t input = space_.index_of(*node.input);
    result.axes = spec_.inputs[input].axes();
    result.inputs = sets_.single(input);
    return result;
  }
  case ExprKind::Fold: return read_fold(node);
  case ExprKind::Extent:
    space_.axis(node.axes[0], node.where);
    result.scoped = node.like.empty();
    return result;
  case ExprKind::Iota:
    result.axes = expr::AxisSet::of(space_.axis(node.axes[0], node.where));
    result.scoped = true;
    return result;
  case ExprKind::Parameter:
  case ExprKind::Call: support::bug("reads: a call was not written out");
  case ExprKind::Op:
  case ExprKind::Cast:
  case ExprKind::Let: break;
  }
  for (const Expr &arg : node.args) {
    const Read &a = (*this)[arg];
    result.axes = result.axes | a.axes;
    result.inputs = sets_.unite(result.inputs, a.inputs);
    result.scoped = result.scoped || a.scoped;
  }
  return result;
}

Read Reads::read_fold(const ExprNode &node) {
  Read result = (*this)[node.args[0]];
  result.folded = {};
  if (!node.like.empty()) {
    std::uint32_t like = space_.input_called(node.like, node.where);
    expr::AxisSet target = spec_.inputs[like].axes();
    result.folded = result.axes - target;
    result.axes = target;
    return result;
  }
  if (node.axes.empty()) result.folded = result.axes;
  for (const AxisRef &ref : node.axes) {
    int axis = space_.axis(ref, node.where);
    std::string fold(ops::info(node.fold).name);
    if (!result.axes.has(axis))
      support::fail(
          "E0103",
          "'" + fold + "' folds axis " + space_.axis_name(axis) +
              ", which its argument lacks: it has " + space_.axis_list(result.axes),
          space_.shown(node.where),
          std::holds_alternative<int>(ref.value())
              ? "positions are those of the iteration space; negative ones count from its end"
              : "fold an axis that the argument has");
    if (result.folded.has(axis))
      support::fail("E0103", "'" + fold + "' folds axis " + space_.axis_name(axis) + " twice",
                    space_.shown(node.where), "name each axis once");
    result.folded = result.folded | expr::AxisSet::of(axis);
  }
  result.axes = result.axes - result.folded;
  return result;
}

} // namespace broadloom::spec
