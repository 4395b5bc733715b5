// Where the data of a fold may be cut along an axis so that each part is whole subtrees of its
// tree.
#pragma once

#include "plan/plan.hpp"

#include <optional>
#include <span>
#include <utility>

namespace broadloom::plan {

struct FoldBorders {
  // Parts begin at multiples of it. With u positions in a leaf: a part of 2^k * u positions that
  // begins at a multiple of its own length is a subtree, and so is what is left at the end.
  std::int64_t unit = 1;
  bool has_ways = false;  // a leaf is stepped through in 32 ways along nothing but this axis
  bool in_groups = false; // a leaf of a scan is stepped through in groups of lanes
  std::string why_not;    // empty: it can be cut
};

// How a block lies, and what `resolve` says of that.
struct BlockLayouts {
  std::vector<Layout> inputs, outputs;
  std::vector<Layout> lies; // of windows, as for make_plan
  Resolved resolved;
};

// Of a fold, an extent or the total of a scan, for blocks of two positions or more.
FoldBorders borders_of(const spec::TypedSpec &spec, const BlockLayouts &block, expr::NodeId fold,
                       int axis);

// Whether some fold or scan has another tree in blocks of one position: an axis of extent 1 is
// none, so another input may decide how the other axes are nested, or the lanes lie along another
// axis.
bool one_position_differs(const spec::TypedSpec &spec, const BlockLayouts &several,
                          const BlockLayouts &one, int axis);

// The first of these folds and scans, as it is in the one spec and in the other, that has another
// tree in the other one. Its node there.
std::optional<expr::NodeId> other_tree(const spec::TypedSpec &spec, const BlockLayouts &layouts,
                                       const spec::TypedSpec &other,
                                       const BlockLayouts &other_layouts,
                                       std::span<const std::pair<expr::NodeId, expr::NodeId>> same);

} // namespace broadloom::plan
