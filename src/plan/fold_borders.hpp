// Where the data of a fold may be cut along an axis so that each part is whole subtrees of its tree.
#pragma once

#include "plan/plan.hpp"

namespace broadloom::plan {

struct FoldBorders {
  // Parts begin at multiples of it. With u positions in a leaf: a part of 2^k * u positions that begins at a multiple of its own length
  // is a subtree, and so is what is left at the end.
  std::int64_t unit = 1;
  bool has_ways = false; // a leaf is stepped through in 32 ways along nothing but this axis
  std::string why_not;   // empty: it can be cut
};

// Of a fold or an extent. `inputs` and `outputs` are the layouts of a part of two positions or more.
FoldBorders borders_of(const spec::TypedSpec &spec, const Resolved &resolved,
                       std::span<const Layout> inputs, std::span<const Layout> outputs,
                       expr::NodeId fold, int axis);

} // namespace broadloom::plan
