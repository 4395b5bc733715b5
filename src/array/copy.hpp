// Copying arrays element by element between layouts.
#pragma once

#include <broadloom/array.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace broadloom::array {

// The dims that a copy goes through, those of the greatest steps in the target first. Dims along
// which both stand still are left out. None where there are no elements.
struct CopiedDim {
  std::int64_t extent, read, write; // and steps in elements
};
std::optional<std::vector<CopiedDim>> dims_of_copy(const Layout &read, const Layout &written);

// Copies the elements of `from` to `to`, which lies as `layout` says (the same extents). No byte
// outside the elements is read or written. Dims along which both stand still are copied once.
void copy_elements(const AnyView &from, void *to, const Layout &layout);

// The elements in C order, in memory of its own. Throws DataError E0305 where there is none.
Array dense_copy(const AnyView &view);

// `count` positions of dim `dim` of the view, from `first` on.
AnyView rows_of(const AnyView &view, std::size_t dim, std::int64_t first, std::int64_t count);

} // namespace broadloom::array
