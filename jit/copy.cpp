#include "jit/copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace broadloom::jit {

void copy_elements(const AnyView &from, void *to, const Layout &layout) {
  struct Dim {
    std::int64_t extent, read, write; // steps in bytes
  };
  const auto size = std::int64_t(size_of(from.dtype));
  std::vector<Dim> dims;
  for (int d = 0; d < layout.rank; ++d) {
    if (layout.extents[d] == 0) return;
    if (layout.extents[d] > 1 && (from.layout.strides[d] != 0 || layout.strides[d] != 0))
      dims.push_back({layout.extents[d], from.layout.strides[d] * size, layout.strides[d] * size});
  }
  std::stable_sort(dims.begin(), dims.end(), [](const Dim &a, const Dim &b) {
    return std::abs(a.write) > std::abs(b.write);
  });
  std::int64_t run = size; // bytes copied at once
  if (!dims.empty() && dims.back().read == size && dims.back().write == size) {
    run *= dims.back().extent;
    dims.pop_back();
  }
  const char *source = static_cast<const char *>(from.data);
  char *target = static_cast<char *>(to);
  std::vector<std::int64_t> index(dims.size());
  std::int64_t read = 0, write = 0;
  bool more = true;
  while (more) {
    std::memcpy(target + write, source + read, std::size_t(run));
    more = false;
    for (std::size_t d = dims.size(); d-- > 0;) { // the next position, last dim fastest
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

} // namespace broadloom::jit
