// Rounding to 16 bits in integer arithmetic, which is the same everywhere: see float16.hpp.
//
// A double has more bits than anything that is rounded here, so one routine serves all: its
// significand is cut where the target's last bit lies, and what is cut off decides the rounding.
// Example, 0.1 as f16 (10 bits of mantissa): 1.1001100110|0110.. x 2^-4 is cut at the bar; the rest
// is below one half.
#include <broadloom/float16.hpp>

#include <bit>

namespace broadloom {

namespace {

template <int mantissa_bits> std::uint16_t round_to_16(double value) {
  constexpr int exponent_bits = 15 - mantissa_bits;
  constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  constexpr std::uint64_t infinity = ((std::uint64_t(1) << exponent_bits) - 1) << mantissa_bits;

  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = bits >> 63 << 15;
  const auto exponent = int(bits >> 52 & 0x7ff) - 1023;
  std::uint64_t significand = bits & 0xfffffffffffff;
  if (exponent == 1024) {
    const std::uint64_t quiet = std::uint64_t(significand != 0) << (mantissa_bits - 1);
    return std::uint16_t(sign | infinity | quiet);
  }
  if (exponent > bias) return std::uint16_t(sign | infinity);
  if (exponent < -bias - mantissa_bits) return std::uint16_t(sign); // below half of the least
  significand |= std::uint64_t(1) << 52;

  // A subnormal result has the exponent of the least normal one, and fewer bits.
  const int target = exponent < 1 - bias ? 1 - bias : exponent;
  const int cut = 52 - mantissa_bits + (target - exponent);
  std::uint64_t kept = significand >> cut;
  const std::uint64_t rest = significand & ((std::uint64_t(1) << cut) - 1);
  const std::uint64_t half = std::uint64_t(1) << (cut - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // The leading one adds itself to the exponent field, as does a carry out of the mantissa.
  return std::uint16_t(sign | ((std::uint64_t(target + bias - 1) << mantissa_bits) + kept));
}

float widen_f16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t(bits >> 15) << 31;
  const std::uint32_t exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  if (exponent == 0) { // a whole number of 2^-24, exact
    const float magnitude = float(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  const std::uint32_t quiet = exponent == 31 && mantissa != 0 ? 0x400000 : 0;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13 | quiet);
}

} // namespace

float16::float16(double value) : bits_(round_to_16<10>(value)) {}
float16::operator float() const { return widen_f16(bits_); }

bfloat16::bfloat16(double value) : bits_(round_to_16<7>(value)) {}
bfloat16::operator float() const { return std::bit_cast<float>(std::uint32_t(bits_) << 16); }

} // namespace broadloom
