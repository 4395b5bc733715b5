// Windows from their definition: which elements they read, by trying positions.
#pragma once

#include "reference/shapes.hpp"

#include <optional>

namespace broadloom::reference {

// [axis]: the extents of the axes that windows walk, for inputs of these layouts; 1 for all other axes. Throws ShapeError E0141,
// E0142.
std::vector<std::int64_t> window_extents(const spec::TypedSpec &spec,
                                         std::span<const Layout> inputs);

// [dim of the input that the window is of]: the position that is read where its axes are at these indices ([axis]). Nothing where a
// derived window looks outside of its array, or between two elements.
std::optional<std::vector<std::int64_t>> position_in(const spec::TypedWindow &window,
                                                     std::span<const AnyView> inputs,
                                                     const std::vector<std::int64_t> &indices);

} // namespace broadloom::reference
