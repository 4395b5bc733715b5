// Results: elements by their indices, printing, and the order that is asked for.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <complex>
#include <sstream>
#include <vector>

namespace bl = broadloom;

namespace {

std::string shown(const auto &value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

} // namespace

TEST_CASE("elements are asked for by indices, however an array lies") {
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const bl::Kernel kernel = bl::compile(bl::parse("kernel k { in x : f32[i, j]; out z = x * 10 }"));
  const bl::Results r = kernel({{"x", bl::View<const float>(x.data(), {2, 3}, {1, 2})}});
  const bl::Array &z = r["z"];
  CHECK(z.strides()[0] == 1); // as x lies
  CHECK(z.at(0, 2) == 50.0);
  CHECK(z.at<float>(1, 0) == 20.0f);
  CHECK(z.at(-1, -1) == 60.0);
  z.at<float>(1, 0) = -1;
  CHECK(z.at(1, 0) == -1.0);
  CHECK(z.to_vector<float>() == std::vector<float>{10, 30, 50, -1, 40, 60});
}

TEST_CASE("elements of every real dtype are numbers, those of complex ones by their type") {
  bl::Array u8(bl::u8, {1}), b(bl::bool_, {1}), i64(bl::i64, {}), c(bl::c64, {2});
  u8.at<std::uint8_t>(0) = 200;
  b.at<bool>(0) = true;
  i64.at<std::int64_t>() = -5;
  c.at<std::complex<float>>(1) = {1, -2};
  CHECK(u8.at(0) == 200.0);
  CHECK(b.at(0) == 1.0);
  CHECK(i64.at() == -5.0);
  CHECK(c.at<std::complex<float>>(-1) == std::complex<float>(1, -2));
  CHECK_THROWS_WITH_AS(c.at(1), doctest::Contains("an element of c64 is no double"),
                       bl::DTypeError);
  CHECK_THROWS_AS(u8.at<float>(0), bl::DTypeError);
}

TEST_CASE("indices that are too many, too few or outside are told") {
  const bl::Array array(bl::f32, {2, 3});
  CHECK_THROWS_WITH_AS(array.at(1), doctest::Contains("shape (2, 3) has 2 indices, not 1"),
                       bl::ShapeError);
  CHECK_THROWS_WITH_AS(array.at(1, 2, 0), doctest::Contains("not 3"), bl::ShapeError);
  CHECK_THROWS_WITH_AS(
      array.at(1, 3), doctest::Contains("E0116: index 3 is outside of dim 1, which has 3 elements"),
      bl::ShapeError);
  CHECK_THROWS_AS(array.at(-3, 0), bl::ShapeError);
}

TEST_CASE("results lie in the order that the call asks for") {
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const bl::Kernel kernel =
      bl::compile(bl::parse("kernel k { in x : f32[i, j]; out z = x * 10; out s = sum(x, j) }"));
  const bl::NamedView f_order("x", bl::View<const float>(x.data(), {2, 3}, {1, 2}));
  const bl::Array in_c = kernel({f_order}, bl::Order::c)["z"],
                  in_f = kernel({f_order}, bl::Order::f)["z"], as_x = kernel({f_order})["z"];
  CHECK(in_c.strides()[1] == 1);
  CHECK(in_c.strides()[0] == 3);
  CHECK(in_f.strides()[0] == 1);
  CHECK(as_x.strides()[0] == 1);
  const float *data = in_c.data<float>();
  CHECK(std::vector<float>(data, data + 6) == std::vector<float>{10, 30, 50, 20, 40, 60});
  CHECK(in_f.to_vector<float>() == in_c.to_vector<float>());
}

TEST_CASE("arrays, results, dtypes and specs print themselves") {
  const std::vector<float> x{1, 2, 3, 4};
  const bl::LoopSpec spec =
      bl::parse("kernel k { in x : f32[i, j]; out z = x * 10; out s[] = reduce(sum) x }");
  const bl::Results r = bl::compile(spec)({{"x", bl::View(x, {2, 2})}});
  CHECK(shown(r["z"]) == "[[10.0, 20.0],\n [30.0, 40.0]]");
  CHECK(shown(r) == "z: f32[2, 2]\n[[10.0, 20.0],\n [30.0, 40.0]]\ns: f32\n10.0\n");
  CHECK(shown(bl::f32) == "f32");
  CHECK(shown(spec) == bl::print(spec));
  CHECK(shown(bl::Array()) == "(no memory)");
}

TEST_CASE("the version of the library is that of the headers") {
  CHECK(bl::version() == BROADLOOM_VERSION);
  CHECK(BROADLOOM_VERSION_NUMBER >= 100);
}
