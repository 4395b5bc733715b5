// The extents of every node of a graph for given inputs, by the rule of broadcasting alone.
//
//   x[5, 1] + y[3], order f: the sum has extents {5, 3}; with x[5, 2] it is an error
#pragma once

#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <span>
#include <vector>

namespace broadloom::reference {

// What is known of one node along one axis.
struct Extent {
  std::int64_t count = 1;
  bool rigid = false;     // a 1 that may not stretch, or more than 1
  spec::DimExtent origin; // the input dim that gave a rigid extent
};
using Extents = std::vector<Extent>; // [axis]

struct Shapes {
  std::vector<Extents> extents;     // [node]
  std::vector<std::int64_t> counts; // [node]: the value of an Extent
};

// Throws as `evaluate` does.
Shapes shapes_of(const spec::TypedSpec &spec, std::span<const Layout> inputs);

// That of an output, whose value is one of these nodes.
std::vector<std::int64_t> shape_of(const spec::TypedOutput &out,
                                   const std::vector<Extents> &extents);

} // namespace broadloom::reference
