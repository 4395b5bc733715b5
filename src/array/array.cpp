// Array: storage, transposition and copying.
//
// Small arrays come from the heap. From 2 MiB on the system maps memory and hands it out zeroed,
// page by page at first touch: nothing is cleared twice, the threads that write an output share the
// page faults, and huge pages make them few.
#include "array/layout.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace broadloom {

namespace {

constexpr std::size_t huge_page = std::size_t(2) << 20;

// Zeroed memory, or null. Exactly `bytes` from the heap, so that AddressSanitizer sees its end.
std::shared_ptr<void> zeroed_memory(std::size_t bytes) {
  if (bytes < huge_page) {
    void *memory = nullptr;
    if (posix_memalign(&memory, 64, std::max<std::size_t>(bytes, 1)) != 0) return nullptr;
    std::memset(memory, 0, bytes);
    return {memory, [](void *p) { std::free(p); }};
  }
  // Mapped with room to move the start to the border of a huge page.
  const std::size_t length = bytes + huge_page;
  void *mapped = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const std::size_t address = reinterpret_cast<std::size_t>(mapped);
  const std::size_t skip = (huge_page - address % huge_page) % huge_page;
  void *memory = static_cast<char *>(mapped) + skip;
  madvise(memory, bytes, MADV_HUGEPAGE); // a wish: without huge pages all is well, only slower
  return {memory, [mapped, length](void *) { munmap(mapped, length); }};
}

// Copies `count` elements that lie `stride` elements apart to consecutive places.
template <std::size_t size>
void gather(char *to, const char *from, std::int64_t count, std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + std::size_t(i) * size, from + i * stride * std::int64_t(size), size);
  }
}

void gather(char *to, const char *from, std::int64_t count, std::int64_t stride, std::size_t size) {
  if (stride == 1) {
    std::memcpy(to, from, std::size_t(count) * size);
    return;
  }
  switch (size) {
  case 1: return gather<1>(to, from, count, stride);
  case 2: return gather<2>(to, from, count, stride);
  case 4: return gather<4>(to, from, count, stride);
  case 8: return gather<8>(to, from, count, stride);
  default: return gather<16>(to, from, count, stride);
  }
}

} // namespace

Array::Array(DType dtype, std::span<const std::int64_t> shape)
    : dtype_(dtype), layout_(contiguous_layout(shape)) {
  const std::size_t bytes = std::size_t(element_count(layout_)) * size_of(dtype);
  owner_ = zeroed_memory(bytes);
  if (!owner_) {
    throw DataError(
        "E0305",
        fmt::format("no memory for {} bytes: {}{}", bytes, name(dtype), array::shape_text(shape)),
        {}, "use smaller arrays, or a machine with more memory");
  }
  data_ = owner_.get();
}

Array Array::transposed() const {
  Array result = *this;
  std::reverse(result.layout_.extents.begin(), result.layout_.extents.begin() + rank());
  std::reverse(result.layout_.strides.begin(), result.layout_.strides.begin() + rank());
  return result;
}

// Rows of the last dim one after another; the counters of the other dims step like an odometer.
Array Array::copy() const {
  if (!data_) return *this;
  Array result(dtype_, shape());
  if (size() == 0) return result;
  const std::size_t width = size_of(dtype_);
  const int last = rank() - 1;
  const std::int64_t row = last >= 0 ? layout_.extents[last] : 1;
  const std::int64_t stride = last >= 0 ? layout_.strides[last] : 1;
  const char *from = static_cast<const char *>(data_);
  char *to = static_cast<char *>(result.data_);
  std::array<std::int64_t, max_rank> counter{};
  std::int64_t offset = 0;
  for (std::int64_t rows = size() / row; rows > 0; --rows, to += std::size_t(row) * width) {
    gather(to, from + offset * std::int64_t(width), row, stride, width);
    for (int d = last - 1; d >= 0; --d) {
      offset += layout_.strides[d];
      if (++counter[d] < layout_.extents[d]) break;
      offset -= layout_.strides[d] * layout_.extents[d];
      counter[d] = 0;
    }
  }
  return result;
}

void Array::require(DType wanted) const {
  if (wanted == dtype_) return;
  throw DTypeError("E0210",
                   fmt::format("an array of {} cannot be read as {}", name(dtype_), name(wanted)),
                   {}, "use the C++ type that belongs to dtype()");
}

} // namespace broadloom
