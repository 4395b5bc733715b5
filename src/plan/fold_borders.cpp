// See fold_borders.hpp.
#include "plan/fold_borders.hpp"

#include "plan/arranger.hpp"
#include "plan/thresholds.hpp"
#include "plan/trees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace broadloom::plan {

namespace {

Request request_of(const spec::TypedSpec &spec, const BlockLayouts &block) {
  return {spec, block.resolved,
          walks_of(spec, block.resolved, block.inputs, block.outputs, block.lies),
          std::vector<bool>(spec.outputs.size(), true), false};
}

// The axes of its loops and their extents, less those of one axis.
using Shape = std::vector<std::vector<std::pair<std::optional<int>, std::int64_t>>>;
Shape shape_of(const Trees::Tree &tree, const Resolved &resolved, int less) {
  Shape shape;
  for (const Group &group : tree.folded) {
    shape.emplace_back();
    for (const ClassId c : group)
      if (resolved[c].axis != less) shape.back().emplace_back(resolved[c].axis, resolved[c].extent);
    if (shape.back().empty()) shape.pop_back();
  }
  return shape;
}

} // namespace

bool one_position_differs(const spec::TypedSpec &spec, const BlockLayouts &several,
                          const BlockLayouts &one, int axis) {
  const Request asked_of_several = request_of(spec, several), asked_of_one = request_of(spec, one);
  const Trees trees(asked_of_several), trees_of_one(asked_of_one);
  return std::ranges::any_of(trees.folds(), [&](expr::NodeId fold) {
    if (spec.graph.recipe(fold).exact || !trees_of_one.is_fold(fold)) return false;
    const Trees::Tree &a = trees.tree_of(fold), &b = trees_of_one.tree_of(fold);
    return a.ways != b.ways ||
           shape_of(a, several.resolved, axis) != shape_of(b, one.resolved, axis);
  });
}

std::optional<expr::NodeId>
other_tree(const spec::TypedSpec &spec, const BlockLayouts &layouts, const spec::TypedSpec &other,
           const BlockLayouts &other_layouts,
           std::span<const std::pair<expr::NodeId, expr::NodeId>> same) {
  const Request asked = request_of(spec, layouts),
                asked_of_other = request_of(other, other_layouts);
  const Trees trees(asked), other_trees(asked_of_other);
  const int none = -1; // all axes count
  for (const auto &[fold, there] : same) {
    if (!trees.needed(fold) || !other_trees.needed(there)) continue; // what nobody computes
    const bool one_step = !trees.is_fold(fold);
    if (one_step != !other_trees.is_fold(there)) return there;
    if (one_step ||
        (spec.graph[fold].kind == expr::NodeKind::Fold && spec.graph.recipe(fold).exact))
      continue;
    const Trees::Tree &a = trees.tree_of(fold), &b = other_trees.tree_of(there);
    if (a.ways != b.ways ||
        shape_of(a, layouts.resolved, none) != shape_of(b, other_layouts.resolved, none))
      return there;
  }
  return std::nullopt;
}

FoldBorders borders_of(const spec::TypedSpec &spec, const BlockLayouts &block, expr::NodeId fold,
                       int axis) {
  const Resolved &resolved = block.resolved;
  FoldBorders made;
  std::optional<ClassId> cut;
  if (spec.graph[fold].kind == expr::NodeKind::Extent) {
    for (const ClassId counted : resolved.counted_classes(spec, fold))
      if (resolved[counted].axis == axis) cut = counted;
  } else {
    for (const expr::NodeId arg : spec.graph.folded_args(fold))
      if (!cut) cut = resolved.class_of(arg, axis);
  }
  if (!cut) {
    made.why_not = fmt::format("some of what is folded or counted has one element along '{}', and "
                               "would be taken once for each block",
                               spec.axes[std::size_t(axis)].name);
    return made;
  }
  if (spec.graph[fold].kind == expr::NodeKind::Extent || spec.graph.recipe(fold).exact) return made;
  const Request request = request_of(spec, block);
  const Trees trees(request);
  const Trees::Tree &tree = trees.tree_of(fold);
  if (spec.graph[fold].kind == expr::NodeKind::Scan) {
    made.unit = scan_block;
    made.in_groups = tree.ways && Arranger::joins_in_lanes(spec.graph.recipe(fold));
    return made;
  }
  const std::string name = resolved[*cut].name;
  if (tree.folded.front().front() != *cut) {
    made.why_not = fmt::format("'{}' is folded inside of '{}'", name,
                               resolved[tree.folded.front().front()].name);
    return made;
  }
  // The positions of the group for one of the axis: they are a power of two or else no subtree ends
  // where a position does.
  const std::int64_t row =
      group_extent(resolved, Group(tree.folded.front().begin() + 1, tree.folded.front().end()));
  if (!std::has_single_bit(std::uint64_t(row))) {
    made.why_not = fmt::format("'{}' is folded as one with what lies inside of it, {} elements for "
                               "each position, which is no power of two",
                               name, row);
    return made;
  }
  if (tree.folded.size() > 1) return made; // each position is a leaf
  made.unit = std::max<std::int64_t>(1, tree.leaf() / row);
  made.has_ways = tree.ways && row == 1;
  return made;
}

} // namespace broadloom::plan
