// Layouts and arrays: what is refused, what is where.
#include "array/layout.hpp"

#include <broadloom/array.hpp>
#include <broadloom/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>

using namespace broadloom;

namespace {

using Extents = std::vector<std::int64_t>;

Extents list(std::span<const std::int64_t> values) { return {values.begin(), values.end()}; }

std::string code_of(const Extents &shape) {
  try {
    contiguous_layout(shape);
  } catch (const ShapeError &error) {
    CHECK_FALSE(error.help().empty());
    return error.code();
  }
  return "";
}

std::string code_of(const Extents &shape, const Extents &strides) {
  try {
    strided_layout(shape, strides);
  } catch (const ShapeError &error) {
    CHECK_FALSE(error.help().empty());
    return error.code();
  }
  return "";
}

Array counting(std::initializer_list<std::int64_t> shape) {
  Array array(i32, shape);
  std::iota(array.data<int>(), array.data<int>() + array.size(), 0);
  return array;
}

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

} // namespace

TEST_CASE("A copy of a layout has all of its dims, whatever its rank") {
  for (int rank = 0; rank <= max_rank; ++rank) {
    std::vector<std::int64_t> shape, strides;
    for (int d = 0; d < rank; ++d) {
      shape.push_back(1 + d % 2);
      strides.push_back(100 + d);
    }
    const Layout layout = strided_layout(shape, strides);
    const Layout copy = layout;
    Layout assigned = strided_layout(std::vector<std::int64_t>(max_rank, 7),
                                     std::vector<std::int64_t>(max_rank, 9));
    assigned = layout;
    for (const Layout &other : {copy, assigned}) {
      CHECK(std::ranges::equal(other.shape(), shape));
      CHECK(std::ranges::equal(other.steps(), strides));
    }
  }
}

TEST_CASE("the last dim of a contiguous layout has stride 1") {
  CHECK(list(contiguous_layout(Extents{2, 3, 4}).steps()) == Extents{12, 4, 1});
  CHECK(list(contiguous_layout(Extents{2, 0, 4}).steps()) == Extents{4, 4, 1});
  CHECK(contiguous_layout(Extents{}).rank == 0);
  CHECK(element_count(contiguous_layout(Extents{})) == 1);
  CHECK(list(array::fortran_layout(Extents{2, 3, 4}).steps()) == Extents{1, 2, 6});
}

TEST_CASE("a view of a shape has the layout of a contiguous array, however many dims there are") {
  float element = 0;
  Extents shape;
  for (int rank = 0; rank <= 6; ++rank, shape.push_back(rank + 1)) {
    const AnyView view = View<float>(&element, shape);
    const Layout layout = contiguous_layout(shape);
    CHECK(view.layout.rank == rank);
    CHECK(std::ranges::equal(view.layout.shape(), layout.shape()));
    CHECK(std::ranges::equal(view.layout.steps(), layout.steps()));
  }
}

TEST_CASE("an array has at most 16 dims") {
  CHECK(code_of(Extents(16, 1)) == "");
  CHECK(code_of(Extents(17, 1)) == "E0110");
}

TEST_CASE("a negative extent is an error") { CHECK(code_of({3, -1}) == "E0111"); }

TEST_CASE("a shape that overflows is an error, behind an extent of 0 too") {
  CHECK(code_of({std::int64_t(1) << 58}) == "");
  CHECK(code_of({(std::int64_t(1) << 58) + 1}) == "E0112");
  CHECK(code_of({std::int64_t(1) << 32, std::int64_t(1) << 32}) == "E0112");
  CHECK(code_of({0, most, most}) == "E0112");
}

TEST_CASE("strides that reach too far are an error") {
  CHECK(code_of({2, 3}, {-3, 0}) == "");
  CHECK(code_of({2, 3}, {3}) == "E0113");
  CHECK(code_of({3}, {most}) == "E0112");
  CHECK(code_of({1}, {least}) == "E0112");
  CHECK(code_of({1 << 20, 1 << 20}, {std::int64_t(1) << 39, 1}) == "E0112");
}

TEST_CASE("a new array is zero and aligned, a small one and a large one") {
  for (std::int64_t size : {std::int64_t(5), std::int64_t(700'001)}) {
    const Array array(f64, {size});
    CHECK(reinterpret_cast<std::uintptr_t>(array.raw()) % 64 == 0);
    CHECK(array.data<double>()[0] == 0);
    CHECK(array.data<double>()[size - 1] == 0);
  }
}

TEST_CASE("memory that cannot be had is an error, not an end") {
  CHECK_THROWS_AS(Array(f64, {std::int64_t(1) << 55}), DataError);
}

TEST_CASE("data<T> insists on the element type") {
  const Array array(f32, {2});
  CHECK_NOTHROW(array.data<const float>());
  CHECK_THROWS_AS(array.data<double>(), DTypeError);
}

TEST_CASE("transposing reverses the axes and shares the memory") {
  const Array array = counting({2, 3, 4});
  const Array turned = array.transposed();
  CHECK(list(turned.shape()) == Extents{4, 3, 2});
  CHECK(list(turned.strides()) == Extents{1, 4, 12});
  CHECK(turned.raw() == array.raw());
}

TEST_CASE("a copy is C-contiguous in logical order, whatever the strides were") {
  const Array array = counting({2, 3});
  const Array copy = array.transposed().copy();
  CHECK(list(copy.strides()) == Extents{2, 1});
  const std::vector<int> values(copy.data<int>(), copy.data<int>() + 6);
  CHECK(values == std::vector<int>{0, 3, 1, 4, 2, 5});

  const Layout backwards = strided_layout(Extents{2, 3}, Extents{0, -1});
  const Array reversed(std::make_shared<Array>(array), i32, array.data<int>() + 2, backwards);
  const Array plain = reversed.copy();
  const std::vector<int> repeated(plain.data<int>(), plain.data<int>() + 6);
  CHECK(repeated == std::vector<int>{2, 1, 0, 2, 1, 0});
}

TEST_CASE("scalars and empty arrays can be copied") {
  CHECK(counting({}).copy().data<int>()[0] == 0);
  CHECK(list(counting({3, 0, 2}).transposed().copy().shape()) == Extents{2, 0, 3});
}

TEST_CASE("contiguity looks past dims of extent 1") {
  CHECK(array::is_c_contiguous(strided_layout(Extents{1, 3}, Extents{77, 1})));
  CHECK(array::is_f_contiguous(strided_layout(Extents{1, 3}, Extents{77, 1})));
  CHECK_FALSE(array::is_c_contiguous(strided_layout(Extents{2, 3}, Extents{1, 2})));
  CHECK_FALSE(array::is_f_contiguous(strided_layout(Extents{2, 3}, Extents{3, 1})));
  CHECK(array::is_c_contiguous(strided_layout(Extents{0, 3}, Extents{-5, 9})));
}
