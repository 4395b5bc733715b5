// Arrays that lie in another one, side by side along one dim: see spec::Join.
#pragma once

#include "spec/materialise.hpp"

#include <broadloom/array.hpp>

#include <cstdint>
#include <functional>
#include <span>

namespace broadloom::kernel {

// Along one dim of the whole the part has its index `own` times `times` behind `first`; or it has
// no such dim, and lies at `first`.
struct PartDim {
  std::int64_t first = 0, times = 1;
  int own = -1;
};
struct Whole {
  Layout layout;                            // in C order
  std::vector<std::vector<PartDim>> places; // [part][dim of the whole]
};

// `extent_of(array, dim)` is that of an input of the call or a let, by the numbers of spec::Join.
// Throws ShapeError E0102 where two parts differ in another dim, E0112 where the whole is too
// large; of parts at positions E0142 for one before the first, E0145 where two of them lie at one
// position, E0146 where none does. These take time in the square of the number of parts.
using ExtentOfArray = std::function<std::int64_t(std::uint32_t, std::size_t)>;
Whole whole_of(const spec::Materialised &let, std::span<const Layout> parts,
               const ExtentOfArray &extent_of);

// Gives part k the strides that it has in the whole. Returns how many elements lie before its first
// one.
std::int64_t put_part(const Whole &whole, std::size_t k, Layout &part);

} // namespace broadloom::kernel
