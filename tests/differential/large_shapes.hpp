// Shapes for which the planner has ways of its own: long rows, short rows, channels, tiles, scans,
// products.
#pragma once

#include "random.hpp"

#include <cstdint>
#include <vector>

namespace broadloom::differential {

struct LargeShape {
  std::vector<std::int64_t> extents;
  // Products: x[i, k] and y[k, j] lack an axis each. Else empty: the first input has all axes.
  std::vector<std::vector<int>> factors;
  bool pairs = false;  // x[i] and y[j], whose pairs are folded over either
  bool maps = false;   // outputs without folds
  bool across = false; // folds over rows
  bool along = false;  // folds along rows
};

LargeShape large_shape(Random &random);

} // namespace broadloom::differential
