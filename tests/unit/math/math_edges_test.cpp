// The edges of exp2, expm1, the logarithms, the hyperbolics, cbrt and hypot; their exact f32 forms.
//
// Problem: math_test.cpp holds every function against a wider libm on samples; what C prescribes
// for single arguments, and what must be exact, is not on a sample.
// Method: values of C Annex F, powers of the base, neighbours of thresholds, Pythagorean triples.
// Example: log10(1000) is 3, hypot(inf, NaN) is inf.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "jit/math/array_forms.hpp"
#include "jit/math/array_table.hpp"
#include "math/functions.hpp"
#include "math/scalar.hpp"

namespace math = broadloom::math;
namespace exact = broadloom::math::lanes::exact;

namespace {

template <class T> constexpr T inf = std::numeric_limits<T>::infinity();
template <class T> constexpr T quiet_nan = std::numeric_limits<T>::quiet_NaN();
template <class T> constexpr T largest = std::numeric_limits<T>::max();
template <class T> constexpr T least = std::numeric_limits<T>::denorm_min();

// -0 is not 0 here.
template <class T> bool same(T a, T b) { return a == b && std::signbit(a) == std::signbit(b); }

template <class T> void check_odd_function(T (*f)(T), T at_infinity) {
  for (T x : {T(0), least<T>, std::numeric_limits<T>::min()}) {
    CHECK(same(f(x), x));
    CHECK(same(f(-x), -x));
  }
  CHECK(f(inf<T>) == at_infinity);
  CHECK(f(-inf<T>) == -at_infinity);
  CHECK(std::isnan(f(quiet_nan<T>)));
}

template <class T> void check_logarithm(T (*f)(T)) {
  CHECK(f(T(0)) == -inf<T>);
  CHECK(f(T(-0.0)) == -inf<T>);
  CHECK(same(f(T(1)), T(0)));
  CHECK(f(inf<T>) == inf<T>);
  CHECK(std::isnan(f(T(-1))));
  CHECK(std::isnan(f(-inf<T>)));
  CHECK(std::isnan(f(quiet_nan<T>)));
}

template <class T> void check_edges() {
  CHECK(math::exp2(inf<T>) == inf<T>);
  CHECK(same(math::exp2(-inf<T>), T(0)));
  CHECK(math::exp2(largest<T>) == inf<T>);
  CHECK(std::isnan(math::exp2(quiet_nan<T>)));
  CHECK(math::expm1(inf<T>) == inf<T>);
  CHECK(math::expm1(largest<T>) == inf<T>);
  CHECK(math::expm1(-inf<T>) == -1);
  CHECK(same(math::expm1(T(-0.0)), T(-0.0)));
  CHECK(same(math::expm1(least<T>), least<T>));
  check_logarithm<T>(math::log2);
  check_logarithm<T>(math::log10);
  CHECK(math::log1p(T(-1)) == -inf<T>);
  CHECK(math::log1p(inf<T>) == inf<T>);
  CHECK(math::log1p(largest<T>) == std::log(largest<T>));
  CHECK(std::isnan(math::log1p(T(-1.5))));
  CHECK(std::isnan(math::log1p(-inf<T>)));
  CHECK(same(math::log1p(T(-0.0)), T(-0.0)));
  CHECK(same(math::log1p(-least<T>), -least<T>));
  check_odd_function<T>(math::sinh, inf<T>);
  check_odd_function<T>(math::asinh, inf<T>);
  CHECK(same(math::cbrt(T(-0.0)), T(-0.0)));
  CHECK(math::cbrt(-inf<T>) == -inf<T>);
  CHECK(std::isnan(math::cbrt(quiet_nan<T>)));
  CHECK(math::cbrt(std::ldexp(T(1), -144)) == std::ldexp(T(1), -48));
  CHECK(math::cosh(T(-0.0)) == 1);
  CHECK(math::cosh(-inf<T>) == inf<T>);
  CHECK(std::isnan(math::cosh(quiet_nan<T>)));
  CHECK(same(math::acosh(T(1)), T(0)));
  CHECK(math::acosh(inf<T>) == inf<T>);
  CHECK(std::isnan(math::acosh(std::nextafter(T(1), T(0)))));
  CHECK(std::isnan(math::acosh(T(-2))));
  CHECK(std::isnan(math::acosh(-inf<T>)));
  CHECK(std::isnan(math::acosh(quiet_nan<T>)));
  CHECK(math::atanh(T(1)) == inf<T>);
  CHECK(math::atanh(T(-1)) == -inf<T>);
  CHECK(same(math::atanh(T(-0.0)), T(-0.0)));
  CHECK(same(math::atanh(least<T>), least<T>));
  CHECK(std::isnan(math::atanh(std::nextafter(T(1), T(2)))));
  CHECK(std::isnan(math::atanh(inf<T>)));
  CHECK(math::hypot(inf<T>, quiet_nan<T>) == inf<T>);
  CHECK(math::hypot(quiet_nan<T>, -inf<T>) == inf<T>);
  CHECK(std::isnan(math::hypot(quiet_nan<T>, T(1))));
  CHECK(std::isnan(math::hypot(T(1), quiet_nan<T>)));
  CHECK(same(math::hypot(T(-0.0), T(-0.0)), T(0)));
  CHECK(math::hypot(least<T>, T(0)) == least<T>);
  CHECK(math::hypot(-largest<T>, least<T>) == largest<T>);
  CHECK(math::hypot(largest<T>, largest<T>) == inf<T>);
}

// The f32 arguments of all exponents, 10007 apart.
template <class F> void check_rounding(const char *name, float (*f)(float), F libm) {
  CAPTURE(name);
  int wrong = 0;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 10007) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const float result = f(x), expected = static_cast<float>(libm(static_cast<double>(x)));
    wrong += !(same(result, expected) || (std::isnan(result) && std::isnan(expected)));
  }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("exp2 to hypot have the special values of C") {
  check_edges<float>();
  check_edges<double>();
}

TEST_CASE("powers of the base, cubes and Pythagorean triples are exact") {
  for (int k = -1074; k < 1024; ++k) {
    const double power = std::ldexp(1.0, k);
    CHECK(math::exp2(double(k)) == power);
    CHECK(math::log2(power) == k);
    if (k >= -149 && k < 128) {
      CHECK(math::exp2(float(k)) == float(power));
      CHECK(math::log2(float(power)) == float(k));
    }
  }
  double power = 1;
  for (int k = 0; k <= 22; ++k, power *= 10) {
    CHECK(math::log10(power) == k);
    if (k <= 10) CHECK(math::log10(float(power)) == float(k));
  }
  for (int k = 1; k < 200; ++k) {
    CHECK(math::cbrt(double(k) * k * k) == k);
    CHECK(math::cbrt(-float(k) * k * k) == -float(k));
    const double a = 2.0 * k * 7, b = double(k) * k - 49;
    CHECK(math::hypot(a, b) == k * k + 49);
    CHECK(math::hypot(float(a), float(b)) == float(k * k + 49));
  }
}

TEST_CASE(
    "hypot stays within one ulp from the least to the largest, in the same bits in every form") {
  const auto check = [](auto zero, auto v3, auto v4) {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> unit(-1, 1);
    std::vector<T> x, y, scalar;
    double worst = 0;
    for (int i = 0; i < 60000; ++i) {
      const int span = Limits::max_exponent - Limits::min_exponent + Limits::digits;
      const int exponent = static_cast<int>(random() % static_cast<unsigned>(span)) +
                           Limits::min_exponent - Limits::digits;
      x.push_back(static_cast<T>(std::ldexp(unit(random), exponent)));
      y.push_back(x.back() *
                  static_cast<T>(std::ldexp(unit(random), -static_cast<int>(random() % 30))));
      if (i % 2) std::swap(x.back(), y.back());
      scalar.push_back(math::hypot(x.back(), y.back()));
      const long double wide =
          std::hypot(static_cast<long double>(x.back()), static_cast<long double>(y.back()));
      const int place = std::max(wide == 0 ? 0 : std::ilogb(wide), Limits::min_exponent - 1);
      if (scalar.back() <= largest<T>) {
        const long double error = std::fabs(scalar.back() - wide);
        worst = std::max(worst, static_cast<double>(std::ldexp(error, Limits::digits - 1 - place)));
      }
    }
    CHECK(worst < 0.95);
    std::vector<T> found(x.size());
    if (broadloom::jit::has_v3()) {
      v3(x.size(), x.data(), y.data(), found.data());
      CHECK(found == scalar);
    }
    if (broadloom::jit::has_v4()) {
      v4(x.size(), x.data(), y.data(), found.data());
      CHECK(found == scalar);
    }
  };
  check(0.0f, v3_bl_array_hypot_f32, v4_bl_array_hypot_f32);
  check(0.0, v3_bl_array_hypot_f64, v4_bl_array_hypot_f64);
}

TEST_CASE("the exact f32 forms are correctly rounded") {
#define BL_CHECK(name)                                                                             \
  check_rounding(#name, exact::name<float, 1>, static_cast<double (*)(double)>(std::name))
  BL_CHECK(exp2);
  BL_CHECK(expm1);
  BL_CHECK(log2);
  BL_CHECK(log10);
  BL_CHECK(log1p);
  BL_CHECK(sinh);
  BL_CHECK(cosh);
  BL_CHECK(asinh);
  BL_CHECK(acosh);
  BL_CHECK(atanh);
  BL_CHECK(cbrt);
#undef BL_CHECK
  // Where the exact result is within 2^-53 of the middle of two floats.
  CHECK(exact::exp2<float, 1>(0x1.853a6ep-9f) == 0x1.00870ap+0f);
  CHECK(exact::log10<float, 1>(0x1.fddcf4p-98f) == -0x1.d33a46p+4f);
  CHECK(exact::log1p<float, 1>(-0x1.7ffffap-21f) == -0x1.800002p-21f);
  CHECK(exact::sinh<float, 1>(-0x1.250bfep-11f) == -0x1.250bfep-11f);
  CHECK(exact::asinh<float, 1>(0x1.bacb4ap+24f) == 0x1.1e0696p+4f);
  CHECK(exact::acosh<float, 1>(0x1.b121a6p+75f) == 0x1.a9a3f2p+5f);
  // Triples whose hypotenuse has 25 bits: a tie, to even.
  for (int m = 4097; m < 4600; m += 2) {
    const int n = m / 2 * 2 - 4094;
    const double a = double(m) * m - double(n) * n, b = 2.0 * m * n,
                 c = double(m) * m + double(n) * n;
    if (float(a) == a && float(b) == b)
      CHECK(exact::hypot<float, 1>(float(a), float(b)) == float(c));
  }
}
