// Rounding f64 to f32 once, where the f64 is not exact.
//
// Problem: a function computed in f64 and then rounded is correctly rounded, unless the f64 lies so
// near the middle of two floats that its own error decides.
// Method: Ziv's test. The 29 bits that the rounding drops say how near the middle is; where it is
// within the error, a slower form with a smaller error is asked. What even that one gets wrong was
// found by going through all floats, and is listed.
// Example: return settle<17>(p, [&] { return exp<double, N>(wide); });
// Reference: Ziv, ACM TOMS 17 (1991), 410-423.
#pragma once

#include "math/simd.hpp"

namespace broadloom::math {

// Is the middle of two floats within 2^ErrorBits ulps of f64? Subnormal floats have the spacing of
// the smallest normal one, which is added to bring their middles to the same place.
template <int ErrorBits, class D> inline auto near_tie(D wide) {
  const D magnitude = abs(wide);
  const D moved = magnitude + select(magnitude < 0x1p-126, D(0x1p-126), D(0.0));
  constexpr std::uint64_t dropped = 0x1fffffff, middle = 0x10000000;
  constexpr std::uint64_t error = std::uint64_t{1} << ErrorBits;
  return ((to_bits(moved) + (error - middle)) & dropped) <= 2 * error;
}

// One input of the slower form with the f64 that rounds to the right float.
struct Settled {
  float x;
  double result;
};
inline constexpr Settled none_settled[] = {{0.0f, 0.0}};

// `wide` as floats, from the slower form where it is near a tie, and from the table where x is in
// it.
template <int ErrorBits, const auto &Table, class F, class D, class Slow>
inline F settle(F x, D wide, Slow slow) {
  constexpr int lanes = lanes_of<D>;
  const auto near = near_tie<ErrorBits>(wide);
  if (any<D>(near)) [[unlikely]] {
    D slower = slow();
    if constexpr (&Table[0] != &none_settled[0])
      for (const Settled &entry : Table)
        slower = select(widen<lanes>(x) == D(entry.x), D(entry.result), slower);
    wide = select(near, slower, wide);
  }
  return narrow<lanes>(wide);
}

} // namespace broadloom::math
