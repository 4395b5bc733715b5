// Windows from their definition: which elements they read, by trying positions.
#pragma once

#include "reference/shapes.hpp"

#include <optional>

namespace broadloom::reference {

// [axis]: the extents of the axes that windows walk, for inputs of these layouts; 1 for all other axes. Throws ShapeError E0141,
// E0142, E0143.
std::vector<std::int64_t> window_extents(const spec::TypedSpec &spec,
                                         std::span<const Layout> inputs);

// What is read where the axes of a window are at these indices ([axis]): the element at a position, [dim of the input that the window
// is of], or a number: that of a padding, or 0 where a derived window looks outside of its array, or between two elements.
struct Read {
  std::optional<std::vector<std::int64_t>> position;
  ops::Scalar number;
};
Read read_by(const spec::TypedWindow &window, std::span<const AnyView> inputs,
             const std::vector<std::int64_t> &indices);

} // namespace broadloom::reference
