// Array: storage, transposition and copying.
//
// Small arrays come from the heap. From 2 MiB on the system maps memory and hands it out zeroed,
// page by page at first touch: nothing is cleared twice, the threads that write an output share the
// page faults, and huge pages make them few.
#include "array/copy.hpp"
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

Array Array::copy() const {
  if (!data_) return *this;
  Array result(dtype_, shape());
  array::copy_elements(*this, result.raw(), result.layout());
  return result;
}

void Array::require(DType wanted) const {
  if (wanted == dtype_) return;
  throw DTypeError("E0210",
                   fmt::format("an array of {} cannot be read as {}", name(dtype_), name(wanted)),
                   {}, "use the C++ type that belongs to dtype()");
}

} // namespace broadloom
