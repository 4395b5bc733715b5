// The two 16-bit float types as C++ values: 16 bits of storage that convert, and compute nothing.
//
//   float16   IEEE binary16: 5 bits of exponent, 10 of mantissa; greatest value 65504
//   bfloat16  the upper half of a float: 8 bits of exponent, 7 of mantissa
//
// Conversion to float is exact. Conversion from float or double rounds once, to nearest even; too
// large becomes infinite, small becomes subnormal, NaN stays NaN.
//   float(float16(0.1f))   is 0.0999755859375
//   bfloat16(1.0f).bits()  is 0x3f80
#pragma once

#include <broadloom/dtype.hpp>

#include <cstdint>

namespace broadloom {

class float16 {
public:
  float16() = default;
  explicit float16(double value);
  operator float() const;

  std::uint16_t bits() const { return bits_; }
  static float16 from_bits(std::uint16_t bits) {
    float16 result;
    result.bits_ = bits;
    return result;
  }

private:
  std::uint16_t bits_ = 0;
};

class bfloat16 {
public:
  bfloat16() = default;
  explicit bfloat16(double value);
  operator float() const;

  std::uint16_t bits() const { return bits_; }
  static bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 result;
    result.bits_ = bits;
    return result;
  }

private:
  std::uint16_t bits_ = 0;
};

template <> constexpr DType dtype_of<float16>() { return DType::F16; }
template <> constexpr DType dtype_of<bfloat16>() { return DType::BF16; }

} // namespace broadloom
