// Strided n-d arrays: `View` is the caller's memory, `Array` owns its own.
//
// Strides count elements, not bytes, and may be negative or zero. The data pointer is the address of
// the element whose indices are all zero, so a reversed view points at its last element in memory.
#pragma once

#include <broadloom/dtype.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace broadloom {

inline constexpr int max_rank = 16; // dims of one operand

// Shape and strides of up to `max_rank` dims, held in place so that views are cheap to make and copy.
struct Layout {
  int rank = 0;
  std::array<std::int64_t, max_rank> extents{};
  std::array<std::int64_t, max_rank> strides{};

  std::span<const std::int64_t> shape() const { return {extents.data(), std::size_t(rank)}; }
  std::span<const std::int64_t> steps() const { return {strides.data(), std::size_t(rank)}; }
};

// A C-contiguous layout. Throws ShapeError E0110 (too many dims), E0111 (a negative extent), E0112
// (the number of elements or bytes overflows 2^62).
Layout contiguous_layout(std::span<const std::int64_t> shape);

// The same checks for given strides, and E0113 when their number is not that of the extents.
Layout strided_layout(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

// The number of elements: the product of the extents, 1 for rank 0.
std::int64_t element_count(const Layout &layout);

// An untyped view: what a kernel is called with. It does not own the data.
struct AnyView {
  DType dtype = DType::F32;
  void *data = nullptr;
  bool writable = false;
  Layout layout;
};

// A typed view of the caller's memory; `View<const float>` for inputs, `View<float>` for outputs too.
template <class T> class View {
public:
  View(T *data, std::initializer_list<std::int64_t> shape)
      : View(data, std::span<const std::int64_t>(shape.begin(), shape.size())) {}
  View(T *data, std::initializer_list<std::int64_t> shape,
       std::initializer_list<std::int64_t> strides)
      : View(data, std::span<const std::int64_t>(shape.begin(), shape.size()),
             std::span<const std::int64_t>(strides.begin(), strides.size())) {}
  View(T *data, std::span<const std::int64_t> shape)
      : data_(data), layout_(contiguous_layout(shape)) {}
  View(T *data, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides)
      : data_(data), layout_(strided_layout(shape, strides)) {}

  T *data() const { return data_; }
  const Layout &layout() const { return layout_; }

  operator AnyView() const {
    return {dtype_of<std::remove_const_t<T>>(), const_cast<std::remove_const_t<T> *>(data_),
            !std::is_const_v<T>, layout_};
  }

private:
  T *data_;
  Layout layout_;
};

// An owning array, or a view that keeps its storage alive. Copies share the storage.
class Array {
public:
  Array() = default;

  // A new zero-filled C-contiguous array, 64-byte aligned. Throws as `contiguous_layout`, and
  // DataError E0305 where memory cannot be had.
  Array(DType dtype, std::span<const std::int64_t> shape);
  Array(DType dtype, std::initializer_list<std::int64_t> shape)
      : Array(dtype, std::span<const std::int64_t>(shape.begin(), shape.size())) {}

  // One whose elements are not set, of a layout whose elements lie without gaps from the first on: for
  // what is written as a whole. From 2 MiB on it may be memory of an array that is gone (see
  // release_kept_memory). Throws DataError E0305.
  static Array to_be_written(DType dtype, const Layout &layout);

  // A view of storage that `owner` keeps alive.
  Array(std::shared_ptr<void> owner, DType dtype, void *data, const Layout &layout)
      : owner_(std::move(owner)), data_(data), dtype_(dtype), layout_(layout) {}

  DType dtype() const { return dtype_; }
  int rank() const { return layout_.rank; }
  std::span<const std::int64_t> shape() const { return layout_.shape(); }
  std::span<const std::int64_t> strides() const { return layout_.steps(); } // in elements
  const Layout &layout() const { return layout_; }
  std::int64_t size() const { return element_count(layout_); } // elements

  void *raw() const { return data_; }

  // The address of the first element. Throws DTypeError E0210 where T is not the element type.
  template <class T> T *data() const {
    require(dtype_of<std::remove_const_t<T>>());
    return static_cast<T *>(data_);
  }

  // All axes reversed; no copy.
  Array transposed() const;

  // A C-contiguous copy.
  Array copy() const;

  operator AnyView() const { return {dtype_, data_, true, layout_}; }

private:
  void require(DType wanted) const;

  std::shared_ptr<void> owner_;
  void *data_ = nullptr;
  DType dtype_ = DType::F32;
  Layout layout_;
};

// Arrays of 2 MiB or more leave their memory, up to 256 MiB for the process, to the outputs that kernels
// allocate next: new memory costs several times the work of a plain kernel. This gives it back to the
// system.
void release_kept_memory();

// .npy files, versions 1 to 3, little-endian, C or F order, read as they lie.
// Throws DataError E0301 (cannot be opened), E0302 (not a .npy file, malformed or truncated),
// E0305 (memory cannot be had), DTypeError E0211 (an element type that Broadloom does not have).
Array load_npy(const std::string &path);

// Writes `array` (in F order where it lies so, else in C order) to a temporary file beside `path` and
// renames it, so that a reader never sees half a file. Throws DataError E0303 (cannot be written), E0305.
void save_npy(const std::string &path, const Array &array);

// .npz files, archives of .npy files as numpy.savez writes them, stored or compressed. The names are those of the arrays, in the order
// of the archive. Throws DataError E0301, E0302, E0305, DTypeError E0211.
using NamedArrays = std::vector<std::pair<std::string, Array>>;
NamedArrays load_npz(const std::string &path);

// Stored, not compressed; a reader never sees half a file. Throws DataError E0303 (cannot be written, or two of one name), E0305.
void save_npz(const std::string &path, const NamedArrays &arrays);

} // namespace broadloom
