// A block of an array, as a view or as the memory of another machine would hold it.
#pragma once

#include <broadloom/array.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace broadloom::tests {

// Positions begin to end along a dim.
inline AnyView part_of(const Array &array, std::size_t dim, std::int64_t begin, std::int64_t end) {
  AnyView view = array;
  view.layout.extents[dim] = end - begin;
  view.data = static_cast<char *>(view.data) +
              begin * view.layout.strides[dim] * std::int64_t(size_of(array.dtype()));
  return view;
}

inline Array dense_copy(const AnyView &view) { // in C order
  return Array(std::shared_ptr<void>(), view.dtype, view.data, view.layout).copy();
}

} // namespace broadloom::tests
