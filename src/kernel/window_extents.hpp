// The extents of the axes that windows walk: those that labels and dims give, and the greatest with
// which every read is inside.
#pragma once

#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <span>
#include <vector>

namespace broadloom::kernel {

// [axis]; 1 for those that no window walks. `given` are the layouts of the inputs that a call is
// given. Throws ShapeError E0102, E0142.
std::vector<std::int64_t> window_extents(const spec::TypedSpec &spec,
                                         std::span<const Layout> given);

} // namespace broadloom::kernel
