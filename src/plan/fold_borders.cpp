// See fold_borders.hpp.
#include "plan/fold_borders.hpp"

#include "plan/trees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace broadloom::plan {

FoldBorders borders_of(const spec::TypedSpec &spec, const Resolved &resolved,
                       std::span<const Layout> inputs, std::span<const Layout> outputs,
                       expr::NodeId fold, int axis) {
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
  const Request request{spec, resolved, walks_of(resolved, inputs, outputs),
                        std::vector<bool>(spec.outputs.size(), true), false};
  const Trees trees(request);
  const Trees::Tree &tree = trees.tree_of(fold);
  const std::string name = resolved[*cut].name;
  if (tree.folded.front().front() != *cut) {
    made.why_not = fmt::format("'{}' is folded inside of '{}'", name,
                               resolved[tree.folded.front().front()].name);
    return made;
  }
  // The positions of the group for one of the axis: they are a power of two or else no subtree ends where a position does.
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
