// Copying arrays element by element between layouts.
#pragma once

#include <broadloom/array.hpp>

namespace broadloom::array {

// Copies the elements of `from` to `to`, which lies as `layout` says (the same extents). No byte
// outside the elements is read or written. Dims along which both stand still are copied once.
void copy_elements(const AnyView &from, void *to, const Layout &layout);

} // namespace broadloom::array
