// Copies of arrays with zeros around and between their elements, for windows that may look there.
//
//   x[(p - u) / 2], p in 0..5, u in 0..2        x of three elements, positions -2 to 5:  0 0 x0 0 x1 0 x2 0
//
// Such a copy is made once in a call for all windows that look at the same positions, and is only as large as these.
#pragma once

#include "kernel/borders.hpp"

#include <vector>

namespace broadloom::kernel {

struct Padding {
  struct Dim {
    std::int64_t first = 0, last = -1; // the positions, before they are divided
    std::int64_t divisor = 1;
    friend bool operator==(const Dim &, const Dim &) = default;
  };
  std::uint32_t of = 0;  // the input
  Pads pads;             // with its borders
  std::vector<Dim> dims; // positions in it; empty: all of it, and no zeros
  friend bool operator==(const Padding &, const Padding &) = default;
};

// Of this shape without gaps, dims in the order in which those of `of` lie. Throws ShapeError E0112.
Layout dense_as(std::span<const std::int64_t> shape, const Layout &of);

// Where it lies: without gaps, dims in the order in which they lie in the array. Throws ShapeError E0112.
Layout padded_layout(const Padding &padding, const Layout &of);

// A copy that lies so, and the elements brought there again, where those of the array have changed.
Array padded(const Padding &padding, const AnyView &of);
void pad_again(const Padding &padding, const AnyView &of, const Array &copy);

// The same of some rows of the array along a dim.
struct Rows {
  std::size_t dim = 0;
  std::int64_t first = 0, count = 0;
};
void pad_rows_again(const Padding &padding, const AnyView &of, const Array &copy, Rows rows);

} // namespace broadloom::kernel
