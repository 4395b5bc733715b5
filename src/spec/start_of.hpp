// Where a window begins, and what a said extent comes to: both are numbers and extents of inputs.
#pragma once

#include "spec/spec.hpp"

namespace broadloom::spec {

// The position along a dim of this extent where all axes are at 0, without what an index says; of a
// said extent, the extent. `extent_of(input, dim)` is that of an input.
template <class ExtentOf>
__int128 start_of(const TypedWindow::Form &form, std::int64_t extent, ExtentOf extent_of) {
  __int128 start = __int128(form.start) + (form.from_end ? extent : 0);
  for (const TypedWindow::Count &count : form.counts)
    start += __int128(count.times) * extent_of(count.input, std::size_t(count.dim));
  return start;
}

} // namespace broadloom::spec
