// See padding.hpp.
#include "kernel/padding.hpp"

#include "array/copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace broadloom::kernel {

Layout padded_layout(const Padding &padding, const Layout &of) {
  std::vector<std::int64_t> shape;
  for (const Padding::Dim &dim : padding.dims) shape.push_back(dim.last - dim.first + 1);
  return dense_as(shape, of);
}

Layout dense_as(std::span<const std::int64_t> shape, const Layout &of) {
  Layout layout = contiguous_layout(shape); // checks the size
  std::vector<std::size_t> slowest_first(shape.size());
  std::iota(slowest_first.begin(), slowest_first.end(), std::size_t(0));
  std::stable_sort(slowest_first.begin(), slowest_first.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(of.strides[a]) > std::abs(of.strides[b]);
  });
  std::int64_t stride = 1;
  for (std::size_t k = shape.size(); k-- > 0;) {
    layout.strides[slowest_first[k]] = stride;
    stride *= std::max<std::int64_t>(shape[slowest_first[k]], 1);
  }
  return layout;
}

Array padded(const Padding &padding, const AnyView &of) {
  const Layout layout = padded_layout(padding, of.layout);
  Array copy = Array::to_be_written(of.dtype, layout);
  std::memset(copy.raw(), 0, std::size_t(copy.size()) * size_of(of.dtype));
  pad_again(padding, of, copy);
  return copy;
}

void pad_again(const Padding &padding, const AnyView &of, const Array &copy) {
  pad_rows_again(padding, of, copy, {0, 0, of.layout.extents[0]});
}

void pad_rows_again(const Padding &padding, const AnyView &of, const Array &copy, Rows rows) {
  AnyView from = of;
  Layout to = copy.layout();
  std::int64_t read = 0, written = 0; // elements before the first that is copied
  for (std::size_t d = 0; d < padding.dims.size(); ++d) {
    const Padding::Dim &dim = padding.dims[d];
    // Element k is at position k * divisor.
    std::int64_t least =
        dim.first <= 0 ? 0 : dim.first / dim.divisor + (dim.first % dim.divisor != 0);
    std::int64_t most =
        dim.last < 0 ? -1 : std::min(dim.last / dim.divisor, of.layout.extents[d] - 1);
    if (d == rows.dim) {
      least = std::max(least, rows.first);
      most = std::min(most, rows.first + rows.count - 1);
    }
    if (most < least) return;
    read += least * of.layout.strides[d];
    written += (least * dim.divisor - dim.first) * to.strides[d];
    from.layout.extents[d] = to.extents[d] = most - least + 1;
    to.strides[d] *= dim.divisor;
  }
  const auto element = std::int64_t(size_of(of.dtype));
  from.data = static_cast<char *>(of.data) + read * element;
  array::copy_elements(from, static_cast<char *>(copy.raw()) + written * element, to);
}

} // namespace broadloom::kernel
