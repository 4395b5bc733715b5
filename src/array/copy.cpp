// See copy.hpp. Rows of the dim with the smallest steps in the target one after another; the
// indices of the other dims step like an odometer.
#include "array/copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace broadloom::array {

namespace {

using Dim = CopiedDim; // with steps in bytes

template <std::size_t size> void copy_row(char *to, const char *from, const Dim &row) {
  for (std::int64_t i = 0; i < row.extent; ++i)
    std::memcpy(to + i * row.write, from + i * row.read, size);
}

void copy_row(char *to, const char *from, const Dim &row, std::int64_t size) {
  if (row.read == size && row.write == size) {
    std::memcpy(to, from, std::size_t(row.extent * size));
    return;
  }
  switch (size) {
  case 1: return copy_row<1>(to, from, row);
  case 2: return copy_row<2>(to, from, row);
  case 4: return copy_row<4>(to, from, row);
  case 8: return copy_row<8>(to, from, row);
  default: return copy_row<16>(to, from, row);
  }
}

} // namespace

std::optional<std::vector<CopiedDim>> dims_of_copy(const Layout &read, const Layout &written) {
  std::vector<CopiedDim> dims;
  for (int d = 0; d < written.rank; ++d) {
    if (written.extents[d] == 0) return std::nullopt;
    if (written.extents[d] > 1 && (read.strides[d] != 0 || written.strides[d] != 0))
      dims.push_back({written.extents[d], read.strides[d], written.strides[d]});
  }
  std::ranges::sort(dims, [](const CopiedDim &a, const CopiedDim &b) {
    return std::abs(a.write) > std::abs(b.write);
  });
  return dims;
}

void copy_elements(const AnyView &from, void *to, const Layout &layout) {
  const auto size = std::int64_t(size_of(from.dtype));
  auto walked = dims_of_copy(from.layout, layout);
  if (!walked) return;
  std::vector<Dim> &dims = *walked;
  for (Dim &dim : dims) {
    dim.read *= size;
    dim.write *= size;
  }
  Dim row{1, size, size};
  if (!dims.empty()) {
    row = dims.back();
    dims.pop_back();
  }
  const char *source = static_cast<const char *>(from.data);
  char *target = static_cast<char *>(to);
  std::vector<std::int64_t> index(dims.size());
  std::int64_t read = 0, write = 0;
  bool more = true;
  while (more) {
    copy_row(target + write, source + read, row, size);
    more = false;
    for (std::size_t d = dims.size(); d-- > 0;) { // the next row, last dim fastest
      read += dims[d].read;
      write += dims[d].write;
      more = ++index[d] < dims[d].extent;
      if (more) break;
      read -= dims[d].read * dims[d].extent;
      write -= dims[d].write * dims[d].extent;
      index[d] = 0;
    }
  }
}

Array dense_copy(const AnyView &view) {
  return Array(std::shared_ptr<void>(), view.dtype, view.data, view.layout).copy();
}

AnyView rows_of(const AnyView &view, std::size_t dim, std::int64_t first, std::int64_t count) {
  AnyView rows = view;
  rows.layout.extents[dim] = count;
  if (rows.data != nullptr)
    rows.data = static_cast<char *>(rows.data) +
                first * view.layout.strides[dim] * std::int64_t(size_of(view.dtype));
  return rows;
}

} // namespace broadloom::array
