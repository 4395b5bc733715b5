// Strided n-d arrays: `View` is the caller's memory, `Array` owns its own.
//
// Strides count elements, not bytes, and may be negative or zero. The data pointer is the address
// of the element whose indices are all zero, so a reversed view points at its last element in
// memory.
#pragma once

#include <broadloom/dtype.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace broadloom {

inline constexpr int max_rank = 16; // dims of one operand

// Shape and strides of up to `max_rank` dims, held in place so that views are cheap to make and
// copy. Behind the first `rank`, extents and strides have no meaning: a copy need not have them.
struct Layout {
  int rank = 0;
  std::array<std::int64_t, max_rank> extents;
  std::array<std::int64_t, max_rank> strides;

  Layout() : extents{}, strides{} {}
  Layout(const Layout &other) : rank(other.rank) { take_dims(other); }
  Layout &operator=(const Layout &other) {
    rank = other.rank;
    take_dims(other);
    return *this;
  }

  std::span<const std::int64_t> shape() const { return {extents.data(), std::size_t(rank)}; }
  std::span<const std::int64_t> steps() const { return {strides.data(), std::size_t(rank)}; }

  struct Unset {};
  explicit Layout(Unset) {} // its dims are set next

private:
  // The first two number by number, as they are often stored a moment before. A load of both at
  // once would wait for the stores.
  [[gnu::always_inline]] void take_dims(const Layout &other) {
    if (rank <= 0) return;
    take_dim(other, 0);
    if (rank == 1) return;
    take_dim(other, 1);
    if (rank > 2) take_more(other);
  }
  [[gnu::noinline]] void take_more(const Layout &other) {
    for (int d = 2; d < rank; ++d) take_dim(other, std::size_t(d));
  }
  void take_dim(const Layout &other, std::size_t d) {
    extents[d] = other.extents[d];
    strides[d] = other.strides[d];
  }
};

// ExtentList or strides as they come: {2, 3}, a std::vector<int>, a std::span<const std::size_t>, a
// std::array, {first, last}. Integers of any type, but from 2^63 on they are none. Throws
// ShapeError E0110 for more than max_rank.
class ExtentList {
public:
  ExtentList() = default;
  ExtentList(std::initializer_list<std::int64_t> values) { fill(values); }
  template <std::integral I> ExtentList(std::initializer_list<I> values) { fill(values); }
  template <std::ranges::forward_range Range>
    requires(std::integral<std::ranges::range_value_t<Range>> &&
             !std::same_as<std::ranges::range_value_t<Range>, bool>)
  ExtentList(const Range &values) {
    fill(values);
  }
  template <std::forward_iterator Iterator>
    requires std::integral<std::iter_value_t<Iterator>>
  ExtentList(Iterator first, Iterator last) {
    fill(std::ranges::subrange(first, last));
  }

  operator std::span<const std::int64_t>() const { return {values_.data(), count_}; }

private:
  template <class Range> void fill(const Range &values) {
    const auto count = std::size_t(std::ranges::distance(values));
    if (count > std::size_t(max_rank)) fail_rank(count);
    for (const auto value : values) values_[count_++] = std::int64_t(value);
  }
  [[noreturn]] static void fail_rank(std::size_t count);

  std::array<std::int64_t, max_rank> values_; // of which so many are set:
  std::size_t count_ = 0;
};

// A C-contiguous layout. Throws ShapeError E0110 (too many dims), E0111 (a negative extent), E0112
// (the number of elements or bytes overflows 2^62).
Layout contiguous_layout(std::span<const std::int64_t> shape);

// The same checks for given strides, and E0113 when their number is not that of the extents.
Layout strided_layout(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

// One whose strides count bytes, as those of NumPy and of images do. Throws what `strided_layout`
// throws, and ShapeError E0115 for a stride that is no multiple of the element size.
Layout byte_strided_layout(std::span<const std::int64_t> shape,
                           std::span<const std::int64_t> byte_strides, std::size_t element_size);

// The number of elements: the product of the extents, 1 for rank 0.
std::int64_t element_count(const Layout &layout);

// An untyped view: what a kernel is called with. The view does not own the data.
struct AnyView {
  DType dtype = DType::F32;
  void *data = nullptr;
  bool writable = false;
  Layout layout;

  // The dtype of the memory may be found out as the program runs.
  static AnyView of(DType dtype, void *data, const Layout &layout) {
    return {dtype, data, true, layout};
  }
  static AnyView of(DType dtype, const void *data, const Layout &layout) {
    return {dtype, const_cast<void *>(data), false, layout};
  }
};

class Array;

namespace detail {
// Throws ShapeError E0114 where a shape has more elements than there are.
Layout layout_within(std::span<const std::int64_t> shape, std::size_t elements);

// As `contiguous_layout`, in line for shapes of few dims that are clearly small enough.
inline Layout c_order(const ExtentList &list) {
  constexpr int bits_of_extent[] = {0, 58, 29, 19,
                                    14}; // [rank]: together no more than 2^58 elements
  const std::span<const std::int64_t> shape = list;
  Layout layout{Layout::Unset()}; // the one that is returned, so that it is not copied
  std::uint64_t all = 0;
  for (const std::int64_t extent : shape) all |= std::uint64_t(extent);
  if (shape.size() >= std::size(bits_of_extent) || all >> bits_of_extent[shape.size()] != 0)
      [[unlikely]] {
    layout = contiguous_layout(shape);
    return layout;
  }
  layout.rank = int(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    std::int64_t extent = shape[d];
#if defined(__GNUC__)
    asm("" : "+r"(extent)); // number by number: see Layout::take_dims
#endif
    layout.extents[d] = extent;
    layout.strides[d] = stride;
    stride *= extent > 1 ? extent : 1;
  }
  return layout;
}
} // namespace detail

// Holds elements one behind the other and is there after the view is made: std::vector, std::array,
// std::span, ..
template <class Range, class T>
concept ElementsOf =
    std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    std::ranges::borrowed_range<Range> &&
    std::convertible_to<std::remove_reference_t<std::ranges::range_reference_t<Range>> (*)[],
                        T (*)[]>;

// A typed view of the caller's memory; `View<const float>` for inputs, `View<float>` for outputs
// too.
//
//   bl::View<const float>(p, {rows, cols}, {ld, 1})       a pointer, a shape and, where the
//                                                         elements do not lie in C order, strides
//   bl::View(v), bl::View(v, {2, 3})                      all of a std::vector, or so many elements
//                                                         of it from the first on
//   bl::View<float>(array)                                of a bl::Array of f32
template <Element T> class View {
public:
  View() =
      default; // of no memory: a call that is given it throws DataError E0306, or ShapeError E0101
  View(T *data, const ExtentList &shape) : data_(data), layout_(detail::c_order(shape)) {}
  View(T *data, const ExtentList &shape, const ExtentList &strides)
      : data_(data), layout_(strided_layout(shape, strides)) {}

  // Throws ShapeError E0114 where the shape has more elements.
  template <ElementsOf<T> Range>
  View(Range &&values)
      : data_(std::ranges::data(values)),
        layout_(detail::c_order({std::int64_t(std::ranges::size(values))})) {}
  template <ElementsOf<T> Range>
  View(Range &&values, const ExtentList &shape)
      : data_(std::ranges::data(values)),
        layout_(detail::layout_within(shape, std::ranges::size(values))) {}

  // Throws DTypeError E0210 for an array of another dtype.
  View(const Array &array);

  // Strides in bytes. Throws ShapeError E0115 where an element would begin within another.
  static View of_bytes(T *data, const ExtentList &shape, const ExtentList &byte_strides) {
    View view;
    view.data_ = data;
    view.layout_ = byte_strided_layout(shape, byte_strides, sizeof(T));
    return view;
  }

  T *data() const { return data_; }
  const Layout &layout() const { return layout_; }

  operator AnyView() const {
    return {dtype_of<std::remove_const_t<T>>(), const_cast<std::remove_const_t<T> *>(data_),
            !std::is_const_v<T>, layout_};
  }

private:
  T *data_ = nullptr;
  Layout layout_;
};
template <class Range>
View(Range &&) -> View<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;
template <class Range>
View(Range &&, const ExtentList &)
    -> View<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

// An owning array, or a view that keeps its storage alive. Copies share the storage.
class Array {
public:
  Array() = default;

  // A new zero-filled C-contiguous array, 64-byte aligned. Throws as `contiguous_layout`, and
  // DataError E0305 where memory cannot be had.
  Array(DType dtype, const ExtentList &shape);

  // One whose elements are not set, of a layout whose elements lie without gaps from the first on:
  // for what is written as a whole. From 2 MiB on it may be memory of an array that is gone (see
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

  // An element by its indices, below 0 from the end: `at(i, j)` is its value as a double,
  // `at<float>(i, j)` the element itself, which may be set. However the array lies. Throws
  // ShapeError E0116 for another number of indices than of dims and for one outside of the array.
  // Throws DTypeError E0210 where T is not the element type, or the element is complex and T is
  // left out.
  template <class T = void, std::integral... Index> decltype(auto) at(Index... index) const {
    const std::array<std::int64_t, sizeof...(Index)> indices{std::int64_t(index)...};
    if constexpr (std::is_void_v<T>)
      return number_at(indices);
    else
      return static_cast<T &>(data<T>()[offset_of(indices)]);
  }

  // All elements in C order, whatever order they lie in. Throws DTypeError E0210 where T is not the
  // element type.
  template <class T> std::vector<T> to_vector() const {
    require(dtype_of<T>());
    const Array in_order = copy();
    const T *first = static_cast<const T *>(in_order.raw());
    return first ? std::vector<T>(first, first + size()) : std::vector<T>();
  }

  // All axes reversed; no copy.
  Array transposed() const;

  // A C-contiguous copy.
  Array copy() const;

  operator AnyView() const { return {dtype_, data_, true, layout_}; }

private:
  void require(DType wanted) const;
  std::int64_t offset_of(std::span<const std::int64_t> indices) const;
  double number_at(std::span<const std::int64_t> indices) const;

  std::shared_ptr<void> owner_;
  void *data_ = nullptr;
  DType dtype_ = DType::F32;
  Layout layout_;
};

template <Element T>
View<T>::View(const Array &array)
    : data_(array.data<std::remove_const_t<T>>()), layout_(array.layout()) {}

// NumPy's form: brackets per dim, columns aligned, floats with as few digits as name them exactly.
// If an array has more than 1000 elements, only the first and last three along each axis are shown.
// Lines are broken where they would have more columns.
//   [[0.5, 1.0, 2.5],
//    [3.0, 3.5, 4.0]]
std::string print(const Array &array, int columns = 100);
std::ostream &operator<<(std::ostream &out, const Array &array);

// Arrays of 2 MiB or more leave their memory, up to 256 MiB for the process, to the outputs that
// kernels allocate next. New memory costs several times the work of a plain kernel. The call gives
// it back to the system.
void release_kept_memory();

// .npy files, versions 1 to 3, little-endian, C or F order, read as they lie. Throws DataError
// E0301 (cannot be opened), E0302 (not a .npy file, malformed or truncated) and E0305 (memory
// cannot be had). Throws DTypeError E0211 for an element type that Broadloom does not have.
Array load_npy(const std::string &path);

// Writes `array`, in F order where it lies so, else in C order. A temporary file beside `path` is
// renamed, so that a reader never sees half a file. Throws DataError E0303 (cannot be written),
// E0305.
void save_npy(const std::string &path, const Array &array);

// .npz files, archives of .npy files as numpy.savez writes them, stored or compressed. The names
// are those of the arrays, in the order of the archive. Throws DataError E0301, E0302, E0305,
// DTypeError E0211.
using NamedArrays = std::vector<std::pair<std::string, Array>>;
NamedArrays load_npz(const std::string &path);

// One array of it: the others may be of element types that Broadloom does not have. Throws
// DataError E0304, too, where there is none of this name.
Array load_npz(const std::string &path, const std::string &name);

// Stored, not compressed; a reader never sees half a file. Throws DataError E0303 (cannot be
// written, or two of one name), E0305.
void save_npz(const std::string &path, const NamedArrays &arrays);

} // namespace broadloom
