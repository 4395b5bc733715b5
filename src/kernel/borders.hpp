// Copies of arrays with borders: what windows of padded inputs see (expr/pad.hpp).
//
//   pad(x, 0: (2, 1), reflect)      x0 x1 x2   is copied as   x2 x1 x0 x1 x2 x1
//
// Such a copy is made once in a call for all windows of one padding, row by row.
#pragma once

#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <vector>

namespace broadloom::kernel {

using Pads = std::vector<spec::TypedWindow::Pad>;

// Where it lies: without gaps, dims in the order in which they lie in the array. Throws ShapeError E0112.
Layout bordered_layout(const Pads &pads, const Layout &of);

// A copy that lies so, and the same again where the elements of the array have changed. No dim of 0 elements has a border of others.
Array bordered(const Pads &pads, const AnyView &of);
void border_again(const Pads &pads, const AnyView &of, const AnyView &copy);

} // namespace broadloom::kernel
