// Array: storage, transposition and copying.
#include "array/copy.hpp"
#include "array/layout.hpp"
#include "array/memory.hpp"
#include "support/element.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

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

Array::Array(DType dtype, const ExtentList &shape)
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

std::int64_t Array::offset_of(std::span<const std::int64_t> indices) const {
  if (data_ == nullptr)
    throw DataError("E0306", "an array without memory has no elements", {},
                    "ask one that a kernel computed, or that was made with a shape");
  if (indices.size() != std::size_t(rank()))
    throw ShapeError(
        "E0116",
        fmt::format("an element of an array of shape {} has {}, not {}", array::shape_text(shape()),
                    rank() == 1 ? "1 index" : fmt::format("{} indices", rank()), indices.size()),
        {}, "give one index for each dim");
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const std::int64_t extent = shape()[d], index = indices[d] + (indices[d] < 0 ? extent : 0);
    if (index < 0 || index >= extent)
      throw ShapeError("E0116",
                       fmt::format("index {} is outside of dim {}, which has {}", indices[d], d,
                                   support::count(extent, "element")),
                       {}, "indices count from 0, those below 0 from the end");
    offset += index * strides()[d];
  }
  return offset;
}

double Array::number_at(std::span<const std::int64_t> indices) const {
  const std::int64_t offset = offset_of(indices);
  return support::with_type(dtype_, [&](auto zero) -> double {
    using T = decltype(zero);
    if constexpr (support::is_complex_type<T>)
      throw DTypeError("E0210", fmt::format("an element of {} is no double", name(dtype_)), {},
                       "ask for it by its type: at<std::complex<float>>(i) or <double>");
    else
      return double(static_cast<const T *>(data_)[offset]);
  });
}

void Array::require(DType wanted) const {
  if (wanted == dtype_) return;
  throw DTypeError("E0210",
                   fmt::format("an array of {} cannot be read as {}", name(dtype_), name(wanted)),
                   {}, "use the C++ type that belongs to dtype()");
}

} // namespace broadloom
