// The one definition of bl_huge_angle: x modulo pi/2 for x >= 2^30, after Payne and Hanek. Included
// by one file of each program that has the functions of an angle in machine code.
// Reference: Payne and Hanek, SIGNUM Newsletter 18 (1983), 19-24; Muller, Elementary Functions, ch.
// 11.
#pragma once

#include "math/functions/trigonometric.hpp"

namespace broadloom::math::lanes {

// For x >= 2^30. In fixed point x * 2/pi is M times a window of 192 bits whose first two are the
// quadrant; bits above it add whole turns, bits below it less than 2^-137.
static Angle<double> reduce_huge(double x) {
  const std::uint64_t bits = to_bits(x);
  if (bits >= 0x7ff0000000000000) return {0, {__builtin_nan(""), 0.0}};
  const std::uint64_t significand = (bits & 0x000fffffffffffff) | 0x0010000000000000;
  // x = significand * 2^e; the window starts at the digit of weight 2^(1 - e) before the point, and
  // the table has 64 digits before it.
  const int start = static_cast<int>(bits >> 52) - 1075 - 2 + 64;
  const auto word = [&](int i) {
    const std::uint64_t *at = two_over_pi_bits + start / 64 + i;
    const int shift = start % 64;
    return shift == 0 ? at[0] : at[0] << shift | at[1] >> (64 - shift);
  };
  __extension__ using Wide = unsigned __int128;
  const Wide low_product = Wide{significand} * word(2);
  const Wide middle = Wide{significand} * word(1) + static_cast<std::uint64_t>(low_product >> 64);
  std::uint64_t p2 = static_cast<std::uint64_t>(low_product);
  std::uint64_t p1 = static_cast<std::uint64_t>(middle);
  std::uint64_t p0 = significand * word(0) + static_cast<std::uint64_t>(middle >> 64);
  std::uint64_t quadrant = p0 >> 62;
  p0 = p0 << 2 | p1 >> 62;
  p1 = p1 << 2 | p2 >> 62;
  p2 = p2 << 2;
  // A fraction of one half or more counts down from the next quadrant.
  const bool negative = p0 >> 63;
  if (negative) {
    ++quadrant;
    p2 = ~p2 + 1;
    p1 = ~p1 + (p2 == 0);
    p0 = ~p0 + (p1 == 0 && p2 == 0);
  }
  // No double is nearer than 2^-62 to a multiple, so that p0 is not zero.
  const int shift = std::countl_zero(p0);
  if (shift > 0) {
    p0 = p0 << shift | p1 >> (64 - shift);
    p1 = p1 << shift | p2 >> (64 - shift);
  }
  const double scale = from_bits<double>(static_cast<std::uint64_t>(1023 - shift) << 52);
  const double head = static_cast<double>(p0 >> 11) * 0x1p-53 * scale;
  const double tail = static_cast<double>(p0 << 53 | p1 >> 11) * 0x1p-117 * scale;
  const Pair<double> r = multiply(Pair<double>{head, tail}, Pair<double>{half_pi_1, half_pi_2});
  return {quadrant & 3, negative ? Pair<double>{-r.high, -r.low} : r};
}

void bl_huge_angle(double x, Angle<double> *angle) { *angle = reduce_huge(x); }

} // namespace broadloom::math::lanes
