// tan over the full range.
//
// Problem: the quotient sin / cos within one ulp for every argument, next to the poles too.
// Method: one reduction modulo pi/2 as for sin and cos; then sin r and cos r change places in odd
// quadrants, and one division of pairs gives the tangent or the negative cotangent.
// Example: tan<double, 8>(x).
#pragma once

#include "math/coefficients/basic.hpp"
#include "math/coefficients/tangent.hpp"
#include "math/functions/trigonometric.hpp"
#include "math/simd.hpp"

namespace broadloom::math::lanes {

// tan of x >= 0 in f64. sin r and cos r are leading terms and small rests, by sine_and_cosine; the
// quotient of the rounded sums is corrected by what the roundings and the division left.
template <class D> inline D tangent(D x) {
  const Angle<D> angle = reduce_quarter_turns(x);
  const auto [sine, cosine] = sine_and_cosine(angle.r);
  const auto odd = (angle.quadrant & 1) != 0;
  const D up_high = select(odd, cosine.high, sine.high), up_low = select(odd, cosine.low, sine.low);
  const D down_high = select(odd, sine.high, cosine.high),
          down_low = select(odd, sine.low, cosine.low);
  const Pair<D> up = fast_two_sum(up_high, up_low), down = fast_two_sum(down_high, down_low);
  const D inverse = 1.0 / down.high;
  const D quotient = up.high * inverse;
  const D remainder = fma(-quotient, down.high, up.high) + fma(-quotient, down.low, up.low);
  return flip_sign(fma(remainder, inverse, quotient), angle.quadrant << 63);
}

// x >= 0 modulo pi/2 for f32 in f64; x and the products with a number of quarter turns leave no
// error to speak of.
template <class D> struct AngleShort {
  Bits<D> quadrant;
  D r;
};
template <class D>
[[gnu::noinline, gnu::cold]] void patch_huge_angle(const D &x, AngleShort<D> &angle) {
  for (int i = 0; i < lanes_of<D>; ++i) {
    if (!(lane(x, i) >= huge_angle)) continue;
    Angle<double> found;
    bl_huge_angle(lane(x, i), &found);
    set_lane(angle.quadrant, i, found.quadrant);
    set_lane(angle.r, i, found.r.high);
  }
}
template <class D> inline AngleShort<D> reduce_quarter_turns_short(D x) {
  constexpr double shifter = 0x1.8p52;
  const D shifted = fma(x, D(two_over_pi), D(shifter));
  const D n = shifted - shifter;
  AngleShort<D> angle{to_bits(shifted), fma(n, D(-half_pi_2), fma(n, D(-half_pi_1), x))};
  if (any<D>(x >= huge_angle)) [[unlikely]] {
    const D copy = x;
    AngleShort<D> patched = angle;
    patch_huge_angle<D>(copy, patched);
    angle = patched;
  }
  return angle;
}

// tan.
// Method: f32: sin r / cos r in f64, polynomials of degree 9 and 10 on [-pi/4, pi/4].
//   f64: the polynomials of sin and cos with exact leading terms, and a corrected quotient.
// Error: f32 0.5001 ulp; f64 0.95 ulp, for every argument.
// Specials: tan(+-0) = +-0, tan(+-inf) = NaN, NaN stays NaN.
// Reference: Payne and Hanek 1983; Muller, Elementary Functions (3rd ed.), ch. 11; Dekker 1971.
template <class T, int N> inline Vec<T, N> tan(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const AngleShort<D> angle = reduce_quarter_turns_short(abs(wide));
    const D z = angle.r * angle.r;
    const D sine = fma(z * angle.r, polynomial<tan_short_sin>(z), angle.r);
    const D cosine = fma(z, polynomial<tan_short_cos>(z), D(1.0));
    const auto odd = (angle.quadrant & 1) != 0;
    const D quotient = select(odd, cosine, sine) / select(odd, sine, cosine);
    return narrow<N>(flip_sign(quotient, (angle.quadrant << 63) ^ sign_of(wide)));
  } else {
    return flip_sign(tangent(abs(x)), sign_of(x));
  }
}

namespace exact {

template <class T, int N> inline Vec<T, N> tan(Vec<T, N> x) {
  return narrow<N>(lanes::tan<double, N>(widen<N>(x)));
}

} // namespace exact

} // namespace broadloom::math::lanes
