// Imaginary numbers in texts, complex ones in C++.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <complex>
#include <limits>
#include <vector>

namespace bl = broadloom;

using Complex = std::complex<float>;
using Wide = std::complex<double>;

namespace {

bl::Results run(const std::string &statements, const bl::NamedView &x) {
  return bl::compile(bl::parse("kernel k { " + statements + " }"))({x});
}

} // namespace

TEST_CASE("an imaginary number takes the precision of what it meets, as in NumPy") {
  const std::vector<float> x{1, -2};
  const std::vector<std::int32_t> n{3};
  const bl::Results r =
      run("in x : f32[i]; out z = x + 2j; out w = 1.5j * x; out u = abs(3 + 4j)", {"x", x});
  CHECK(r["z"].to_vector<Complex>() == std::vector<Complex>{{1, 2}, {-2, 2}});
  CHECK(r["w"].to_vector<Complex>() == std::vector<Complex>{{0, 1.5f}, {0, -3}});
  CHECK(r["u"].dtype() == bl::f64);
  CHECK(r["u"].at() == 5.0);
  const bl::Results of_integers = run("in n : i32[i]; out z = n * 2j", {"n", n});
  CHECK(of_integers["z"].to_vector<Wide>() == std::vector<Wide>{{0, 6}});
}

TEST_CASE("what is made of numbers only is computed beforehand") {
  const std::vector<double> x{2};
  const bl::Results r = run("in x : f64[i]; out z = exp(1j * pi) * x; out w = (1 + 2j) * (3 - 1j) "
                            "+ x; out s = 1j ^ 2 + x",
                            {"x", x});
  const Wide z = r["z"].at<Wide>(0);
  CHECK(z.real() == doctest::Approx(-2));
  CHECK(std::abs(z.imag()) < 1e-15);
  CHECK(r["w"].at<Wide>(0) == Wide(7, 5));
  CHECK(r["s"].at<Wide>(0) == Wide(1, 0));
}

TEST_CASE("texts with imaginary numbers print as they are read") {
  const std::string text = "kernel k {\n"
                           "  in  x : c64[i]\n"
                           "  out z = x * 2j + (1. - 1e-05j) / x\n"
                           "}\n";
  CHECK(bl::print(bl::parse(text)) == text);
}

TEST_CASE("std::complex is a number in C++") {
  using namespace std::complex_literals;
  const std::vector<Complex> data{{1, 1}, {0, -1}};
  const bl::Expr x = bl::input("x", bl::c64, {"i"});
  const bl::LoopSpec spec =
      bl::LoopSpec("k").out("a", x * 2i).out("b", Wide(1, -2) + x).out("c", x * Complex(-1, 0));
  const bl::Results r = bl::compile(spec)({{"x", data}});
  CHECK(r["a"].to_vector<Complex>() == std::vector<Complex>{{-2, 2}, {2, 0}});
  CHECK(r["b"].to_vector<Complex>() == std::vector<Complex>{{2, -1}, {1, -3}});
  CHECK(r["c"].to_vector<Complex>() == std::vector<Complex>{{-1, -1}, {0, 1}});
  CHECK(bl::print(bl::parse(bl::print(spec))) == bl::print(spec));
  CHECK_THROWS_AS(x * Wide(0, std::numeric_limits<double>::infinity()), bl::SpecError);
  CHECK_THROWS_AS(bl::pad(bl::input("y", bl::c64, {"i"}), {{"i", 1, 1}}, Wide(0, 1)),
                  bl::SpecError);
}

TEST_CASE("gradients go through imaginary numbers") {
  const bl::LoopSpec spec =
      bl::parse("kernel k { in x : c128[i]; out z = x * 2j; out m = imag(x * (1 + 3j)) }");
  const std::vector<Wide> x{{1, 2}, {3, -4}};
  const bl::GradientCheck check = bl::check_gradient(spec, {{"x", x}});
  CHECK(check.passed());
  CHECK(check.slopes.size() == 2);
}

TEST_CASE("an imaginary number does not become real, and fits its precision") {
  CHECK_THROWS_AS(bl::check(bl::parse("kernel k { in x : f32[i]; out z : f32 = x * 2j }")),
                  bl::DTypeError);
  CHECK_THROWS_WITH_AS(bl::check(bl::parse("kernel k { in x : f32[i]; out z = x * 1e300j }")),
                       doctest::Contains("does not fit c64"), bl::DTypeError);
  CHECK_THROWS_AS(bl::parse("kernel k { in x : f32[i]; out z = x * 1e999j }"), bl::SpecError);
  CHECK_THROWS_AS(bl::parse("kernel k { in x : f32[i]; out z = x * 2jx }"), bl::SpecError);
}
