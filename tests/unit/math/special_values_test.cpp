// Special values: signs of zeros, infinities, NaN, and what C says of them.
#include "math/scalar.hpp"
#include "math/special.hpp"
#include "tests/unit/math/ulps.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace broadloom::tests;
namespace math = broadloom::math;

TEST_CASE("atan2 tells all quadrants and signs of zero apart") {
  const double pi = 0x1.921fb54442d18p+1;
  CHECK(same_bits(math::atan2(0.0, 0.0), 0.0));
  CHECK(same_bits(math::atan2(-0.0, 0.0), -0.0));
  CHECK(math::atan2(0.0, -0.0) == pi);
  CHECK(math::atan2(-0.0, -0.0) == -pi);
  CHECK(math::atan2(0.0, -1.0) == pi);
  CHECK(same_bits(math::atan2(-0.0, 1.0), -0.0));
  CHECK(math::atan2(1.0, -0.0) == pi / 2);
  CHECK(math::atan2(-1.0, 0.0) == -pi / 2);
  CHECK(same_bits(math::atan2(-1.0, inf), -0.0));
  CHECK(math::atan2(1.0, -inf) == pi);
  CHECK(math::atan2(inf, 1.0) == pi / 2);
  CHECK(math::atan2(inf, inf) == pi / 4);
  CHECK(math::atan2(-inf, -inf) == -3 * (pi / 4));
  CHECK(std::isnan(math::atan2(quiet_nan, 1.0)));
  CHECK(math::atan2(0x1p-1074, 2.0) == 0);
  CHECK(math::atan2(0x1p-1000, 0x1p70) == 0x1p-1070);
  CHECK(math::atan2(0x1p1023, 0x1p1023) == pi / 4);
}

TEST_CASE("pow has the special values of C") {
  CHECK(math::pow(0.0, 0.0) == 1);
  CHECK(math::pow(quiet_nan, 0.0) == 1);
  CHECK(math::pow(1.0, quiet_nan) == 1);
  CHECK(math::pow(-1.0, inf) == 1);
  CHECK(math::pow(-1.0, -inf) == 1);
  CHECK(std::isnan(math::pow(-8.0, 1.0 / 3)));
  CHECK(math::pow(-0.0, -1.0) == -inf);
  CHECK(math::pow(-0.0, -2.0) == inf);
  CHECK(math::pow(-0.0, -0.5) == inf);
  CHECK(same_bits(math::pow(-0.0, 3.0), -0.0));
  CHECK(same_bits(math::pow(-0.0, 4.0), 0.0));
  CHECK(math::pow(-inf, 3.0) == -inf);
  CHECK(same_bits(math::pow(-inf, -3.0), -0.0));
  CHECK(math::pow(0.5, inf) == 0);
  CHECK(math::pow(0.5, -inf) == inf);
  CHECK(math::pow(-2.0, 3.0) == -8);
  CHECK(math::pow(10.0, 22.0) == 1e22);
  CHECK(math::pow(2.0, -1074.0) == 0x1p-1074);
  CHECK(math::pow(2.0f, -149.0f) == 0x1p-149f);
}

TEST_CASE("edges keep their signs, infinities and NaN") {
  CHECK(math::exp(-inf) == 0);
  CHECK(math::exp(inf) == inf);
  CHECK(math::exp(-0.0) == 1);
  CHECK(std::isnan(math::exp(quiet_nan)));
  CHECK(math::log(-0.0) == -inf);
  CHECK(std::isnan(math::log(-1.0)));
  CHECK(math::log(inf) == inf);
  CHECK(same_bits(math::log(1.0), 0.0));
  CHECK(same_bits(math::sin(-0.0), -0.0));
  CHECK(same_bits(math::sin(-0.0f), -0.0f));
  CHECK(math::cos(0.0) == 1);
  CHECK(math::cos(0.0f) == 1);
  CHECK(std::isnan(math::sin(inf)));
  CHECK(std::isnan(math::cos(-std::numeric_limits<float>::infinity())));
  CHECK(math::tanh(inf) == 1);
  CHECK(math::tanh(-inf) == -1);
  CHECK(same_bits(math::tanh(-0.0), -0.0));
  CHECK(math::tanh(0x1p-1074) == 0x1p-1074);
  CHECK(same_bits(math::gelu(-0.0), -0.0));
  CHECK(same_bits(math::gelu(-0.0f), -0.0f));
  CHECK(same_bits(math::gelu(-inf), -0.0));
  CHECK(math::gelu(inf) == inf);
  CHECK(math::erfc(-inf) == 2);
  CHECK(math::erfc(inf) == 0);
  CHECK(math::erf(inf) == 1);
  CHECK(same_bits(math::erf(-0.0), -0.0));
  CHECK(same_bits(math::acos(1.0), 0.0));
  CHECK(same_bits(math::acos(1.0f), 0.0f));
  CHECK(std::isnan(math::acos(1.5)));
  CHECK(std::isnan(math::asin(-1.5f)));
  CHECK(std::isnan(math::tan(inf)));
  CHECK(same_bits(math::tan(-0.0), -0.0));
  CHECK(same_bits(math::asin(-0.0f), -0.0f));
  CHECK(same_bits(math::atan(-0.0), -0.0));
  CHECK(same_bits(math::lgamma(1.0), 0.0));
  CHECK(same_bits(math::lgamma(2.0f), 0.0f));
  CHECK(math::lgamma(-0.0) == inf);
  CHECK(math::lgamma(-3.0) == inf);
  CHECK(math::lgamma(-inf) == inf);
  CHECK(math::lgamma(0x1.754d9278b51a7p+1014) == 0x1.fffffffffffffp1023);
  CHECK(math::lgamma(0x1.754d9278b51a8p+1014) == inf);
  CHECK(std::isnan(math::lgamma(quiet_nan)));
  CHECK(math::digamma(0.0) == -inf);
  CHECK(math::digamma(-0.0f) == std::numeric_limits<float>::infinity());
  CHECK(math::digamma(inf) == inf);
  CHECK(std::isnan(math::digamma(-2.0)));
  CHECK(std::isnan(math::digamma(-inf)));
}
