// Arrays that lie in another one, side by side along one dim: see spec::Join.
#pragma once

#include "spec/materialise.hpp"

#include <broadloom/array.hpp>

#include <cstdint>
#include <span>

namespace broadloom::kernel {

// The whole, in C order. Throws ShapeError E0102 where two parts differ in another dim, E0112 where it is too large.
Layout whole_of(const spec::Materialised &let, std::span<const Layout> parts);

// Gives a part the strides that it has in the whole; `first` is its position there, and then that of the next one. Returns how many elements
// lie before its first one.
std::int64_t put_part(const spec::Join &join, const Layout &whole, Layout &part,
                      std::int64_t &first);

} // namespace broadloom::kernel
