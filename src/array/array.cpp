// Array: storage, transposition and copying.
#include "array/copy.hpp"
#include "array/layout.hpp"
#include "array/memory.hpp"
#include "support/out_of_memory.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace broadloom {

namespace {

std::size_t byte_count(DType dtype, const Layout &layout) {
  return std::size_t(element_count(layout)) * size_of(dtype);
}

void check_memory(const std::shared_ptr<void> &memory, DType dtype,
                  std::span<const std::int64_t> shape, std::size_t bytes) {
  if (memory) return;
  throw DataError(
      "E0305",
      fmt::format("no memory for {} bytes: {}{}", bytes, name(dtype), array::shape_text(shape)), {},
      "use smaller arrays, or a machine with more memory");
}

} // namespace

Array::Array(DType dtype, std::span<const std::int64_t> shape)
    : dtype_(dtype), layout_(contiguous_layout(shape)) {
  const std::size_t bytes = byte_count(dtype, layout_);
  owner_ = array::zeroed_memory(bytes);
  check_memory(owner_, dtype, shape, bytes);
  data_ = owner_.get();
}

Array Array::to_be_written(DType dtype, const Layout &layout) {
  const std::size_t bytes = byte_count(dtype, layout);
  std::shared_ptr<void> memory = array::written_memory(bytes);
  check_memory(memory, dtype, layout.shape(), bytes);
  void *data = memory.get();
  return Array(std::move(memory), dtype, data, layout);
}

void release_kept_memory() { array::release_kept(); }

Array Array::transposed() const {
  Array result = *this;
  std::reverse(result.layout_.extents.begin(), result.layout_.extents.begin() + rank());
  std::reverse(result.layout_.strides.begin(), result.layout_.strides.begin() + rank());
  return result;
}

Array Array::copy() const try {
  if (!data_) return *this;
  Array result = to_be_written(dtype_, contiguous_layout(shape()));
  array::copy_elements(*this, result.raw(), result.layout());
  return result;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

void Array::require(DType wanted) const {
  if (wanted == dtype_) return;
  throw DTypeError("E0210",
                   fmt::format("an array of {} cannot be read as {}", name(dtype_), name(wanted)),
                   {}, "use the C++ type that belongs to dtype()");
}

} // namespace broadloom
