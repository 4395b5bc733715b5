// f16 and bf16: every bit pattern, every boundary between neighbours, and no double rounding, in
// scalar code. The yardstick shares nothing with the code: it rounds by arithmetic on doubles, not
// on bits.
#include "ops/ops.hpp"

#include <broadloom/float16.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace broadloom {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// To the nearest multiple of the last place, ties to even: nearbyint of an exact quotient.
double nearest(double x, int mantissa_bits, int greatest_exponent) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), 1 - greatest_exponent);
  const double unit = std::ldexp(1.0, exponent - mantissa_bits);
  const double rounded = std::nearbyint(x / unit) * unit;
  return std::fabs(rounded) >= std::ldexp(2.0, greatest_exponent) ? std::copysign(inf, x) : rounded;
}
double nearest_f16(double x) { return nearest(x, 10, 15); }
double nearest_bf16(double x) { return nearest(x, 7, 127); }

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

double as_double(float16 x) { return double(float(x)); }
double as_double(bfloat16 x) { return double(float(x)); }

TEST_CASE("the values of f16 and bf16 are what their bits say") {
  for (int bits = 0; bits < 65536; ++bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) value = mantissa == 0 ? inf : std::nan("");
    if (bits >> 15 != 0) value = -value;
    if (!same(as_double(float16::from_bits(std::uint16_t(bits))), value)) FAIL_CHECK(bits);

    const int wide = bits >> 7 & 255, fraction = bits & 127;
    value = wide == 0 ? std::ldexp(fraction, -133) : std::ldexp(128 + fraction, wide - 134);
    if (wide == 255) value = fraction == 0 ? inf : std::nan("");
    if (bits >> 15 != 0) value = -value;
    if (!same(as_double(bfloat16::from_bits(std::uint16_t(bits))), value)) FAIL_CHECK(bits);
  }
}

TEST_CASE("every f16 and bf16 but NaN comes back from f32 with its bits, and NaN stays one") {
  for (int bits = 0; bits < 65536; ++bits) {
    const float half = float16::from_bits(std::uint16_t(bits));
    if (std::isnan(half) ? !std::isnan(float(float16(half))) : float16(half).bits() != bits)
      FAIL_CHECK(bits);
    const float upper = bfloat16::from_bits(std::uint16_t(bits));
    if (std::isnan(upper) ? !std::isnan(float(bfloat16(upper))) : bfloat16(upper).bits() != bits)
      FAIL_CHECK(bits);
  }
}

// Two neighbours and what lies between: just above the lower, just below, on and above the middle,
// just below the upper one. The last bits of a double are lost in f32: whoever goes by way of it
// rounds twice.
template <class Visit> void between_neighbours(float low, float high, Visit visit) {
  const double a = low, b = high, middle = a + (b - a) / 2;
  for (const double x : {a, b, middle})
    for (const double y :
         {x, std::nextafter(x, a), std::nextafter(x, b), double(std::nextafter(float(x), low)),
          double(std::nextafter(float(x), high))})
      visit(y), visit(-y);
}

TEST_CASE("f64 rounds to f16 and bf16 once, at every boundary between neighbours") {
  for (int bits = 0; bits < 0x7c00; ++bits) {
    const float low = float16::from_bits(std::uint16_t(bits));
    const float next = float16::from_bits(std::uint16_t(bits + 1));
    between_neighbours(low, std::isinf(next) ? 65536.0f : next, [&](double x) {
      if (!same(as_double(float16(x)), nearest_f16(x))) FAIL_CHECK(x);
    });
  }
  for (int bits = 0; bits < 0x7f7f; ++bits) {
    const float low = bfloat16::from_bits(std::uint16_t(bits));
    between_neighbours(low, bfloat16::from_bits(std::uint16_t(bits + 1)), [&](double x) {
      if (!same(as_double(bfloat16(x)), nearest_bf16(x))) FAIL_CHECK(x);
    });
  }
}

TEST_CASE("f32 rounds to f16 and bf16 to nearest even, over a stride of all 2^32") {
  for (std::uint64_t bits = 0; bits < std::uint64_t(1) << 32; bits += 997) {
    const float x = std::bit_cast<float>(std::uint32_t(bits));
    if (!same(as_double(float16(x)), nearest_f16(x))) FAIL_CHECK(bits);
    if (!same(as_double(bfloat16(x)), nearest_bf16(x))) FAIL_CHECK(bits);
  }
}

TEST_CASE("doubles that lie beside a middle by less than an f32 shows round to the right side") {
  CHECK(float16(1 + 0x1p-11).bits() == 0x3c00);           // on the middle: even
  CHECK(float16(1 + 0x1p-11 + 0x1p-40).bits() == 0x3c01); // above it
  CHECK(float16(1 + 0x3p-11 - 0x1p-40).bits() == 0x3c01); // below the next
  CHECK(bfloat16(1 + 0x1p-8 + 0x1p-45).bits() == 0x3f81);
  CHECK(bfloat16(0x1p-134 + 0x1p-180).bits() == 0x0001); // half of the least subnormal, and more
  CHECK(bfloat16(0x1p-134).bits() == 0x0000);
  CHECK(bfloat16(1e-38).bits() == 0x006d); // a subnormal is not flushed
  CHECK(float16(65519.999).bits() == 0x7bff);
  CHECK(float16(65520.0).bits() == 0x7c00);
  CHECK(float16(-1e300).bits() == 0xfc00);
  CHECK(float16(5e-324).bits() == 0);
}

TEST_CASE("integers round to f16 and bf16 once") {
  auto to = [](std::int64_t value, DType from, DType to) {
    return ops::convert(ops::scalar_from(value), from, to).bits;
  };
  const std::int64_t middle = (std::int64_t(1) << 62) + (std::int64_t(1) << 54);
  CHECK(to(middle, i64, bf16) == 0x5e80);     // to even
  CHECK(to(middle + 1, i64, bf16) == 0x5e81); // an f64 would not see the one
  CHECK(to(-middle - 1, i64, bf16) == 0xde81);
  CHECK(to(-1, u64, bf16) == 0x5f80);
  CHECK(to(65519, i32, f16) == 0x7bff);
  CHECK(to(65520, i32, f16) == 0x7c00);
  CHECK(to(2049, i16, f16) == 0x6800);
  CHECK(to(INT64_MIN, i64, f16) == 0xfc00);
  CHECK(to(1, bool_, bf16) == 0x3f80);
  for (std::int64_t k = -70000; k <= 70000; ++k) {
    if (float(float16::from_bits(std::uint16_t(to(k, i32, f16)))) != float(nearest_f16(double(k))))
      FAIL_CHECK(k);
    if (float(bfloat16::from_bits(std::uint16_t(to(k, i32, bf16)))) !=
        float(nearest_bf16(double(k))))
      FAIL_CHECK(k);
  }
}

TEST_CASE("f16 and bf16 become integers by truncation and saturation, NaN becomes 0") {
  auto from = [](double value, DType type, DType to) {
    return ops::as_i64(ops::convert(ops::convert(ops::scalar_from(value), f64, type), type, to));
  };
  CHECK(from(-2.75, f16, i8) == -2);
  CHECK(from(inf, f16, i16) == 32767);
  CHECK(from(-5, bf16, u8) == 0);
  CHECK(from(3e38, bf16, i64) == INT64_MAX);
  CHECK(from(std::nan(""), bf16, i32) == 0);
  CHECK(from(0x1p-24, f16, bool_) == 1);
}

} // namespace
} // namespace broadloom
