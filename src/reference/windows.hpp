// Windows from their definition: which elements they read, by trying positions.
#pragma once

#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <optional>
#include <span>
#include <vector>

namespace broadloom::reference {

// [axis]: the extents of the axes that windows walk, for inputs of these layouts; 1 for all other
// axes. Throws ShapeError E0141, E0142, E0143.
std::vector<std::int64_t> window_extents(const spec::TypedSpec &spec,
                                         std::span<const Layout> inputs);

// `out y[i < 2*extent(x, 0)]`: the shape that is said, of the arrays before it. Throws ShapeError
// E0144 for an extent below 0.
std::vector<std::int64_t> said_shape(const spec::TypedInput &said, std::span<const Layout> given);

// With the extents that are said behind the inputs of a call and the lets: shapes without elements
// (spec::TypedInput::said).
void add_said(const spec::TypedSpec &spec, std::vector<Layout> &layouts);
std::vector<AnyView> with_said(const spec::TypedSpec &spec, std::vector<AnyView> given);

// Is the node sum(.., like=x[k[i]])?
inline bool is_sum_through_gather(const spec::TypedSpec &spec, const expr::Node &node) {
  const spec::TypedInput *window = spec.summed_through(node);
  return window != nullptr && window->window->is_gather();
}

// What is read where the axes of a window are at these indices ([axis]): the element at a position,
// [dim of the input that the window is of], or a number: that of a padding, or 0 where a derived
// window looks outside of its array, or between two elements. Throws DataError E0315 where an
// element says a position outside.
struct Read {
  std::optional<std::vector<std::int64_t>> position;
  ops::Scalar number;
};
Read read_by(const spec::TypedSpec &spec, std::size_t window, std::span<const AnyView> inputs,
             const std::vector<std::int64_t> &indices);

} // namespace broadloom::reference
