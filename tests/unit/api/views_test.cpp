// Views of what C++ programs hold their data in.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace bl = broadloom;

namespace {

std::vector<std::int64_t> shape_of(const bl::AnyView &view) {
  const auto shape = view.layout.shape();
  return {shape.begin(), shape.end()};
}
std::vector<std::int64_t> strides_of(const bl::AnyView &view) {
  const auto strides = view.layout.steps();
  return {strides.begin(), strides.end()};
}

using Shape = std::vector<std::int64_t>;

} // namespace

TEST_CASE("vectors, arrays and spans are views of all of their elements, or of a shape that fits") {
  std::vector<float> v{1, 2, 3, 4, 5, 6};
  const std::vector<double> c{1, 2};
  std::array<std::int32_t, 3> a{1, 2, 3};
  const bl::AnyView whole = bl::View(v), matrix = bl::View(v, {2, 3}), constant = bl::View(c),
                    fixed = bl::View(a), part = bl::View(std::span(v).subspan(2));
  CHECK(whole.data == v.data());
  CHECK(whole.writable);
  CHECK(shape_of(whole) == Shape{6});
  CHECK(shape_of(matrix) == Shape{2, 3});
  CHECK(!constant.writable);
  CHECK(constant.dtype == bl::f64);
  CHECK(fixed.dtype == bl::i32);
  CHECK(shape_of(part) == Shape{4});
  CHECK(part.data == v.data() + 2);
  const bl::AnyView read_only = bl::View<const float>(v, {3, 2});
  CHECK(!read_only.writable);
  CHECK_THROWS_WITH_AS(bl::View(v, {2, 4}),
                       doctest::Contains("shape (2, 4) has 8 elements, and there are 6"),
                       bl::ShapeError);
}

TEST_CASE("temporary vectors, and vectors of other types, are no views") {
  CHECK(std::is_constructible_v<bl::View<float>, std::vector<float> &>);
  CHECK(std::is_constructible_v<bl::View<const float>, const std::vector<float> &>);
  CHECK(!std::is_constructible_v<bl::View<float>, std::vector<float>>);
  CHECK(!std::is_constructible_v<bl::View<float>, const std::vector<float> &>);
  CHECK(!std::is_constructible_v<bl::View<float>, std::vector<double> &>);
  CHECK(!std::is_constructible_v<bl::View<bool>, std::vector<bool> &>);
  CHECK(!bl::Element<char>);
  CHECK(!bl::Element<int *>);
}

TEST_CASE("extents may be of any integers, in any container") {
  std::vector<float> v(24);
  const std::vector<int> ints{2, 3, 4};
  const std::vector<std::size_t> sizes{2, 3, 4};
  const std::array<std::uint8_t, 3> bytes{2, 3, 4};
  const std::size_t rows = 2, columns = 12;
  CHECK(shape_of(bl::View(v.data(), ints)) == Shape{2, 3, 4});
  CHECK(shape_of(bl::View(v.data(), sizes)) == Shape{2, 3, 4});
  CHECK(shape_of(bl::View(v.data(), bytes)) == Shape{2, 3, 4});
  CHECK(shape_of(bl::View(v.data(), std::span(ints).first(1))) == Shape{2});
  CHECK(shape_of(bl::View(v, {rows, columns})) == Shape{2, 12});
  const bl::AnyView strided = bl::View(v.data(), ints, std::array<long, 3>{1, 2, 6});
  CHECK(strides_of(strided) == Shape{1, 2, 6});
  CHECK(bl::Array(bl::f32, ints).size() == 24);
  CHECK_THROWS_WITH_AS(bl::View(v.data(), std::vector<int>(17, 1)),
                       doctest::Contains("17 dims are more than the 16"), bl::ShapeError);
}

TEST_CASE("strides may be given in bytes") {
  struct Pixel {
    std::uint8_t r, g, b, a;
  };
  std::vector<Pixel> pixels(6, Pixel{1, 2, 3, 4});
  const bl::AnyView green =
      bl::View<std::uint8_t>::of_bytes(&pixels[0].g, {2, 3}, {3 * sizeof(Pixel), sizeof(Pixel)});
  CHECK(strides_of(green) == Shape{12, 4});
  std::vector<float> v(8);
  const bl::AnyView rows = bl::View<float>::of_bytes(v.data(), {2, 2}, {16, 8});
  CHECK(strides_of(rows) == Shape{4, 2});
  CHECK_THROWS_WITH_AS(bl::View<float>::of_bytes(v.data(), {2, 2}, {16, 6}),
                       doctest::Contains("E0115: stride 6 of dim 1 is no multiple of the 4 bytes"),
                       bl::ShapeError);
  CHECK_THROWS_AS(bl::View<float>::of_bytes(v.data(), {2, 2}, {16}), bl::ShapeError);
}

TEST_CASE(
    "arrays are views of their element type only, and views of any dtype may be of const data") {
  const bl::Array array(bl::f32, {2, 3});
  const bl::View<const float> view(array.transposed());
  CHECK(view.data() == array.data<float>());
  CHECK(strides_of(view) == Shape{1, 3});
  CHECK_THROWS_AS(bl::View<double>{array}, bl::DTypeError);

  const std::vector<std::int16_t> constant{3, 4};
  const void *data = constant.data();
  const bl::AnyView any = bl::AnyView::of(bl::i16, data, bl::contiguous_layout(bl::ExtentList{2}));
  CHECK(!any.writable);
  const bl::Kernel kernel = bl::compile(bl::parse("kernel k { in x : i16[i]; out z = x + 1 }"));
  CHECK(kernel({{"x", any}})["z"].to_vector<std::int16_t>() == std::vector<std::int16_t>{4, 5});
}

TEST_CASE("arguments by name are vectors as they are") {
  const bl::Kernel kernel =
      bl::compile(bl::parse("kernel k { in x : f64[i]; in y : f64[i]; out z = x * y }"));
  std::vector<double> x{1, 2}, z(2);
  const std::vector<double> y{3, 4};
  kernel.run({{"x", x}, {"y", y}}, {{"z", z}});
  CHECK(z == std::vector<double>{3, 8});
}

TEST_CASE("arguments by name come in any order, and outputs may be left out") {
  const bl::Kernel kernel = bl::compile(
      bl::parse("kernel k { in x : f64[i]; in y : f64[i]; out z = x - y; out w = x * y }"));
  const std::vector<double> x{5, 7}, y{2, 3}, difference{3, 4}, product{10, 21};
  std::vector<double> z(2), w(2);
  const auto called = [&](auto call) {
    z = w = {0, 0};
    call();
    return std::pair(z, w);
  };
  const auto all = std::pair(difference, product);
  CHECK(called([&] { kernel.run({{"x", x}, {"y", y}}, {{"z", z}, {"w", w}}); }) == all);
  CHECK(called([&] { kernel.run({{"y", y}, {"x", x}}, {{"z", z}, {"w", w}}); }) == all);
  CHECK(called([&] { kernel.run({{"x", x}, {"y", y}}, {{"w", w}, {"z", z}}); }) == all);
  CHECK(called([&] { kernel.run({{"x", x}, {"y", y}}, {{"w", w}}); }).second == product);
  CHECK(z == std::vector<double>{0, 0});
  CHECK_THROWS_AS(kernel.run({{"x", x}, {"x", y}}, {{"z", z}, {"w", w}}), bl::DataError);
}

#ifdef __FLT16_MANT_DIG__
TEST_CASE("the compiler's half floats are f16") {
#if defined(__aarch64__) && !defined(__clang__) && __GNUC__ < 13
  using Half = __fp16;
#else
  using Half = _Float16;
#endif
  std::vector<Half> x{Half(1.5f), Half(-2.0f)}, z(2);
  const bl::Kernel kernel = bl::compile(bl::parse("kernel k { in x : f16[i]; out z = x * x }"));
  kernel.run({bl::View(x)}, {bl::View(z)});
  CHECK(float(z[0]) == 2.25f);
  CHECK(float(z[1]) == 4.0f);
  CHECK(float(bl::Array(bl::f16, {1}).at<Half>(0)) == 0.0f);
}
#endif
