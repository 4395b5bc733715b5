// Layouts: shapes and strides that are safe to do arithmetic with.
//
// Everything downstream multiplies extents, strides and element sizes in 64 bits without looking
// back, so nothing that could overflow may get past here. The limit is 2^58 elements: 2^62 bytes of
// the widest type, so that the type need not be known. An extent of 0 counts as 1, because loops
// also form partial products: (0, 2^40, 2^40) is refused, as in NumPy.
#include "array/layout.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace broadloom {

namespace {

constexpr std::int64_t element_limit = std::int64_t(1) << 58;

[[noreturn]] void too_large(const std::string &what) {
  throw ShapeError("E0112", what, {},
                   "an array has at most 2^58 elements; check the extents and strides for values "
                   "that were not initialised");
}

[[noreturn]] void fail_rank(std::size_t rank) {
  throw ShapeError(
      "E0110", fmt::format("{} dims are more than the {} that an array may have", rank, max_rank),
      {}, "merge neighbouring dims before the call");
}

// Checks the shape and fills in rank and extents.
Layout checked_shape(std::span<const std::int64_t> shape) {
  if (shape.size() > std::size_t(max_rank)) fail_rank(shape.size());
  Layout layout{Layout::Unset()};
  layout.rank = int(shape.size());
  std::int64_t count = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0) {
      throw ShapeError("E0111", fmt::format("extent {} of dim {} is negative", shape[d], d), {},
                       "extents are 0 or more; a reversed dim has a negative stride instead");
    }
    if (__builtin_mul_overflow(count, std::max<std::int64_t>(shape[d], 1), &count) ||
        count > element_limit) {
      too_large(fmt::format("shape {} has too many elements", array::shape_text(shape)));
    }
    layout.extents[d] = shape[d];
  }
  return layout;
}

// Whether walking the dims in the order given meets the elements one after another in memory.
template <class Dims> bool walks_in_order(const Layout &layout, const Dims &dims) {
  if (element_count(layout) == 0) return true;
  std::int64_t expected = 1;
  for (int d : dims) {
    if (layout.extents[d] != 1 && layout.strides[d] != expected) return false;
    expected *= layout.extents[d];
  }
  return true;
}

std::vector<int> dims_from_first(const Layout &layout) {
  std::vector<int> dims(layout.rank);
  for (int d = 0; d < layout.rank; ++d) dims[d] = d;
  return dims;
}

} // namespace

Layout contiguous_layout(std::span<const std::int64_t> shape) {
  Layout layout = checked_shape(shape);
  std::int64_t stride = 1;
  for (int d = layout.rank - 1; d >= 0; --d) {
    layout.strides[d] = stride;
    stride *= std::max<std::int64_t>(layout.extents[d], 1);
  }
  return layout;
}

Layout strided_layout(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  Layout layout = checked_shape(shape);
  if (strides.size() != shape.size()) {
    throw ShapeError("E0113",
                     fmt::format("{} strides for the {} dims of shape {}", strides.size(),
                                 shape.size(), array::shape_text(shape)),
                     {}, "give one stride per dim, in elements, or none for a contiguous array");
  }
  std::int64_t reach = 0; // how far the farthest element lies from the first, whatever the signs
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t stride = strides[d];
    std::int64_t length = 0;
    if (stride < -element_limit || stride > element_limit ||
        __builtin_mul_overflow(std::abs(stride), std::max<std::int64_t>(shape[d] - 1, 0),
                               &length) ||
        __builtin_add_overflow(reach, length, &reach) || reach > element_limit) {
      too_large(
          fmt::format("stride {} of dim {} reaches too far for extent {}", stride, d, shape[d]));
    }
    layout.strides[d] = stride;
  }
  return layout;
}

Layout byte_strided_layout(std::span<const std::int64_t> shape,
                           std::span<const std::int64_t> byte_strides, std::size_t element_size) {
  std::array<std::int64_t, max_rank> strides{};
  const auto size = std::int64_t(element_size);
  for (std::size_t d = 0; d < std::min(byte_strides.size(), strides.size()); ++d) {
    if (byte_strides[d] % size != 0)
      throw ShapeError(
          "E0115",
          fmt::format("stride {} of dim {} is no multiple of the {} bytes of an element",
                      byte_strides[d], d, size),
          {}, "copy the elements to where each begins a whole number of elements on");
    strides[d] = byte_strides[d] / size;
  }
  // As many as are given, so that the number is checked.
  return strided_layout(shape,
                        {strides.data(), std::min(byte_strides.size(), std::size_t(max_rank))});
}

void ExtentList::fail_rank(std::size_t count) { broadloom::fail_rank(count); }

Layout detail::layout_within(std::span<const std::int64_t> shape, std::size_t elements) {
  const Layout layout = contiguous_layout(shape);
  if (std::uint64_t(element_count(layout)) > elements)
    throw ShapeError("E0114",
                     fmt::format("shape {} has {} elements, and there are {}",
                                 array::shape_text(shape), element_count(layout), elements),
                     {}, "give a shape that has no more");
  return layout;
}

std::int64_t element_count(const Layout &layout) {
  std::int64_t count = 1;
  for (std::int64_t extent : layout.shape()) count *= extent;
  return count;
}

namespace array {

std::vector<Layout> layouts_of(std::span<const AnyView> views) {
  std::vector<Layout> layouts;
  for (const AnyView &view : views) layouts.push_back(view.layout);
  return layouts;
}

Layout fortran_layout(std::span<const std::int64_t> shape) {
  Layout layout = checked_shape(shape);
  std::int64_t stride = 1;
  for (int d = 0; d < layout.rank; ++d) {
    layout.strides[d] = stride;
    stride *= std::max<std::int64_t>(layout.extents[d], 1);
  }
  return layout;
}

bool has_no_elements(const Layout &layout) { return std::ranges::count(layout.shape(), 0) != 0; }

bool is_c_contiguous(const Layout &layout) {
  std::vector<int> dims = dims_from_first(layout);
  std::reverse(dims.begin(), dims.end());
  return walks_in_order(layout, dims);
}

bool is_f_contiguous(const Layout &layout) {
  return walks_in_order(layout, dims_from_first(layout));
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

} // namespace array
} // namespace broadloom
