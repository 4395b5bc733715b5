// See reads.hpp.
#include "spec/reads.hpp"

#include "spec/definition.hpp"
#include "support/check.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <vector>

namespace broadloom::spec {

const TypedInput *least_rank_input(const TypedSpec &spec, const std::vector<std::size_t> &inputs) {
  const TypedInput *least = nullptr;
  for (std::size_t i : inputs) {
    const TypedInput &x = spec.inputs[i];
    if (!least || x.axis_of_dim.size() < least->axis_of_dim.size()) least = &x;
  }
  return least;
}

std::vector<std::size_t> lenders_of(const TypedSpec &spec, const std::vector<std::size_t> &inputs,
                                    int axis) {
  std::vector<std::size_t> found;
  bool labelled = false;
  for (std::size_t i : inputs) {
    const TypedInput &input = spec.inputs[i];
    for (std::size_t dim = 0; dim < input.axis_of_dim.size(); ++dim) {
      if (input.axis_of_dim[dim] != axis) continue;
      const bool settles = input.labelled && !input.may_stretch[dim];
      if (settles && !labelled)
        std::erase_if(found, [&](std::size_t other) { return spec.inputs[other].labelled; });
      if (!input.labelled || !labelled) found.push_back(i);
      labelled = labelled || settles;
    }
  }
  return found;
}

void Reads::add(const Expr &root) {
  walker_.walk(root.node(), [&](const ExprNode &node) { reads_.emplace(&node, read(node)); });
}

// Of an extent or an index, which may stand where nothing says how long the axis is.
static int axis_of(const ExprNode &node, const Space &space, const TypedSpec &spec) {
  const auto *label = std::get_if<std::string>(&node.axes[0].value());
  const auto is_it = [&](const Axis &axis) { return axis.labelled && axis.name == *label; };
  std::vector<std::string> labels;
  for (const Axis &axis : spec.axes)
    if (axis.labelled) labels.push_back(axis.name);
  if (label != nullptr && std::ranges::none_of(spec.axes, is_it) &&
      support::closest(*label, labels).empty())
    support::fail("E0104",
                  "there is no axis '" + *label + "', whose " +
                      (node.kind == ExprKind::Iota ? "index" : "extent") + " is asked for",
                  space.shown(node.where), "say how long it is, as in axis " + *label + " < 3");
  return space.axis(node.axes[0], node.where);
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
  case ExprKind::Fold:
  case ExprKind::Scan: return read_fold(node);
  case ExprKind::Extent:
    axis_of(node, space_, spec_);
    result.scoped = node.of.empty();
    return result;
  case ExprKind::Iota:
    result.axes = expr::AxisSet::of(axis_of(node, space_, spec_));
    result.scoped = node.of.empty();
    return result;
  case ExprKind::Join:
    support::fail("E0029", "concat() or stack() is the whole value of a let that lists its dims",
                  space_.shown(node.where), "write let h[i, j] = concat(i, x, y) and read h here");
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

void Reads::add(const FoldUse &use) {
  check_accumulator(use);
  for (const Expr &value : use.init) add(value);
}

void Reads::check_accumulator(const FoldUse &use) {
  const auto &definition = use.accumulator.definition();
  if (!definition) return;
  auto [it, fresh] = definitions_.try_emplace(definition->name, definition.get());
  if (fresh) check_definition(*definition, spec_.source.get());
  if (it->second != definition.get())
    support::fail("E0004", "two accumulators are called '" + definition->name + "'",
                  space_.shown(definition->where), "give one of them another name");
}

Read Reads::read_fold(const ExprNode &node) {
  const FoldUse &use = *node.use;
  check_accumulator(use);
  Read result;
  for (std::size_t i = 0; i < node.folded; ++i) {
    const Read &arg = (*this)[node.args[i]];
    result.axes = result.axes | arg.axes;
    result.inputs = sets_.unite(result.inputs, arg.inputs);
    result.scoped = result.scoped || arg.scoped;
  }
  result.accumulated = result.inputs;
  const std::string fold(name_of(use.accumulator));
  const bool is_scan = node.kind == ExprKind::Scan;
  if (!use.like.empty()) {
    const std::vector<std::uint32_t> like = space_.inputs_called(use.like, node.where);
    const auto &window = spec_.inputs[like[0]].window;
    expr::AxisSet target = window ? spec_.inputs[window->of].axes() : spec_.axes_of(like);
    // What goes through a window is folded whole, and put where the window reads.
    result.folded = window ? result.axes : result.axes - target;
    result.axes = target;
  } else if (node.axes.empty()) {
    result.folded = result.axes;
  }
  const std::string of_two = is_scan ? "" : of_two_values(use);
  const auto axis_of = [&](const AxisRef &ref) {
    try {
      return space_.axis(ref, node.where);
    } catch (const ShapeError &error) { // max(3, 4) meant no axis
      if (of_two.empty() || !std::holds_alternative<int>(ref.value())) throw;
      support::fail(error.code(), error.message(), error.where(), of_two);
    }
  };
  for (const AxisRef &ref : node.axes) {
    int axis = axis_of(ref);
    const std::string what = (is_scan ? "the scan of '" : "'") + fold + "' " +
                             (is_scan ? "runs along axis " : "folds axis ") +
                             space_.axis_name(axis);
    if (!result.axes.has(axis))
      support::fail(
          "E0103", what + ", which its argument lacks: it has " + space_.axis_list(result.axes),
          space_.shown(node.where),
          std::holds_alternative<int>(ref.value()) && !of_two.empty() ? of_two
          : std::holds_alternative<int>(ref.value())
              ? "positions are those of the iteration space; negative ones count from its end"
          : is_scan ? "scan along an axis that the argument has"
                    : "fold an axis that the argument has");
    if (result.folded.has(axis))
      support::fail("E0103", what + " twice", space_.shown(node.where), "name each axis once");
    result.folded = result.folded | expr::AxisSet::of(axis);
  }
  if (!is_scan) result.axes = result.axes - result.folded;
  for (std::size_t i = node.folded; i < node.args.size(); ++i) {
    const Read &init = (*this)[node.args[i]];
    result.axes = result.axes | init.axes;
    result.inputs = sets_.unite(result.inputs, init.inputs);
    result.scoped = result.scoped || init.scoped;
  }
  return result;
}

} // namespace broadloom::spec
