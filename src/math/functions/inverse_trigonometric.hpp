// atan, atan2, asin and acos.
//
// Problem: within one ulp over the whole range, where the angle is a sum of a known one and a
// series; quotients of any two doubles without a false overflow or underflow.
// Method: the argument is brought near zero, by a quotient for atan and by a square root for asin,
// as an unevaluated pair; the known angle is added exactly and the series last.
// Example: atan2<double, 8>(y, x); asin<float, 16>(x).
#pragma once

#include "math/coefficients/basic.hpp"
#include "math/coefficients/inverse_trigonometric.hpp"
#include "math/functions/logarithm.hpp"
#include "math/simd.hpp"
#include "math/table.hpp"

namespace broadloom::math::lanes {

template <class D, class Mask> inline Bits<D> one_where(Mask condition, std::uint64_t value) {
  return condition ? Bits<D>(value) : Bits<D>(0);
}

// The angle with the tangent a / b for 0 <= a <= b, seen from the axis that `octant` (0, 4, 8 or
// 12)
// means: a/b against 0, 1/2 or 1. With c the nearest of these, atan(a/b) = atan c + atan u,
// u = (a - c b) / (b + c a): the numerator is exact, u is a pair, |u| <= 1/4.
// Neither b nor a nonzero quotient may be near the ends of the exponents.
template <class D> inline D angle_of(D a, D b, Same<Bits<D>> octant) {
  const auto above_quarter = a > b * 0.25;
  const auto above_most = a > b * 0.71875;
  const D c = select(above_most, D(1.0), select(above_quarter, D(0.5), D(0.0)));
  const Bits<D> base = octant + one_where<D>(above_quarter, 1) + one_where<D>(above_most, 1);
  const D numerator = fma(-c, b, a);
  const D denominator = fma(c, a, b);
  const D denominator_low = fma(c, a, b - denominator);
  const D inverse = 1.0 / denominator;
  const D quotient = numerator * inverse;
  const D remainder =
      fma(-quotient, denominator_low, fma(-quotient, denominator, numerator)) * inverse;
  // Subtracted in the octants 4 and 8.
  const Bits<D> sign = ((octant << 61) ^ (octant << 60)) & sign_bit;
  const D z = quotient * quotient;
  const D rest = fma(z * quotient, polynomial<atan_tail>(z), remainder);
  const D head_angle = table_value<atan_base_1, D>(base);
  const Pair<D> head = fast_two_sum(head_angle, flip_sign(quotient, sign));
  return head.high + (head.low + (table_value<atan_base_2, D>(base) + flip_sign(rest, sign)));
}

// The same for f32 in f64: atan of u = a / b by one polynomial.
template <class D> inline D angle_of_short(D a, D b) {
  const D u = a / b;
  const D z = u * u;
  return fma(z * u, polynomial<atan_short_tail>(z), u);
}

// atan.
// Method: atan |x| for |x| <= 1, pi/2 - atan(1 / |x|) beyond. f32: one polynomial of degree 27 in
//   f64. f64: three centres (angle_of) and a polynomial of degree 19. |x| is held at 2^60, where
//   the result is pi/2.
// Error: f32 0.5001 ulp; f64 0.7 ulp.
// Specials: atan(+-inf) = +-pi/2, atan(+-0) = +-0, NaN stays NaN.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 11; Dekker 1971 for the pairs.
template <class T, int N> inline Vec<T, N> atan(Vec<T, N> x) {
  using D = Vec<double, N>;
  D wide;
  if constexpr (sizeof(T) == 4)
    wide = widen<N>(x);
  else
    wide = x;
  const D magnitude = abs(wide);
  const auto turned = magnitude > 1.0;
  const D held = select(magnitude > 0x1p60, D(0x1p60), magnitude);
  const D a = select(turned, D(1.0), held), b = select(turned, held, D(1.0));
  if constexpr (sizeof(T) == 4) {
    const D angle = angle_of_short(a, b);
    return narrow<N>(flip_sign(select(turned, half_pi_1 - angle, angle), sign_of(wide)));
  } else {
    return flip_sign(angle_of(a, b, one_where<D>(turned, 4)), sign_of(x));
  }
}

// One lane of atan2 whose arguments are not ordinary: a, b = |y|, |x| or the reverse, a <= b or
// NaN.
inline double angle_at_edge(double a, double b, std::uint64_t octant) {
  if (a == b) return a == 0 ? angle_of(0.0, 1.0, octant) : angle_of(1.0, 1.0, octant);
  if (a < b * 0x1p-100) return octant == 0 ? a / b : angle_of(0.0, 1.0, octant);
  const double scale = b < 1.0 ? 0x1p600 : 0x1p-600;
  return angle_of(a * scale, b * scale, octant);
}
template <class D>
[[gnu::noinline, gnu::cold]] void patch_edges(const D &a, const D &b, const Bits<D> &octant,
                                              D &angle) {
  for (int i = 0; i < lanes_of<D>; ++i) {
    const double at = lane(a, i), bt = lane(b, i);
    if (bt >= 0x1p-500 && bt <= 0x1p500 && (at >= 0x1p-500 || at == 0)) continue;
    if constexpr (lanes_of<D> == 1)
      angle = angle_at_edge(at, bt, octant);
    else
      set_lane(angle, i, angle_at_edge(at, bt, octant[i]));
  }
}

// atan2.
// Method: as atan, of the lesser magnitude by the greater, from the nearer axis. f32: the quotient
// in
//   f64, which holds them all. f64: a cold path scales arguments near the ends of the exponents,
//   and takes a quotient below 2^-100 for its own arc tangent.
// Error: f32 0.5001 ulp; f64 0.7 ulp.
// Specials: C Annex F, 10.1.4: atan2(+-0, x > 0 or +0) = +-0, atan2(+-0, x < 0 or -0) = +-pi,
//   atan2(y, +-0) = +-pi/2, atan2(+-inf, inf) = +-pi/4, atan2(+-inf, -inf) = +-3 pi/4, ...
// Reference: as atan.
template <class T, int N> inline Vec<T, N> atan2(Vec<T, N> y, Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    constexpr double last = 0x1p1000; // in place of infinities, which have no quotient
    const D up = widen<N>(y), right = widen<N>(x);
    const D high = select(abs(up) > last, D(last), abs(up));
    const D wide = select(abs(right) > last, D(last), abs(right));
    const auto turned = high > wide;
    const D a = select(turned, wide, high), b = select(turned, high, wide);
    const D first = angle_of_short(a, select(b == 0.0, D(1.0), b));
    const D second = select(turned, half_pi_1 - first, first);
    const auto left = sign_of(right) != 0;
    return narrow<N>(flip_sign(select(left, pi_1 - second, second), sign_of(up)));
  } else {
    const D high = abs(y), wide = abs(x);
    const auto turned = high > wide;
    const D a = select(turned, wide, high), b = select(turned, high, wide);
    const Bits<D> octant = one_where<D>(turned, 4) + (sign_of(x) >> 60);
    D angle = angle_of(a, b, octant);
    const auto ordinary = (b >= 0x1p-500) & (b <= 0x1p500) & ((a >= 0x1p-500) | (a == 0.0));
    if (any<D>(!ordinary)) [[unlikely]] {
      const D copy_a = a, copy_b = b;
      const Bits<D> copy_octant = octant;
      D patched = angle;
      patch_edges<D>(copy_a, copy_b, copy_octant, patched);
      angle = patched;
    }
    return flip_sign(angle, sign_of(y));
  }
}

// 1 / s for 0 <= s <= 1/2 within 2 %: the difference of exponents in bits, and one step of
// Newton's.
template <class D> inline D rough_inverse(D s) {
  constexpr Word<D> from = sizeof(Word<D>) == 8 ? 0x7fde623800000000 : 0x7ef311c7;
  const D start = from_bits<D>(from - to_bits(s));
  return start * fma(-s, start, D(2.0));
}

// What asin and acos are made of, not yet added: asin |x| up to 1/2, and acos |x| beyond, where it
// is 2 asin(sqrt((1 - |x|) / 2)).
template <const auto &Tail, class D> inline Pair<D> arc_of(D magnitude) {
  const auto beyond = magnitude > D(0.5);
  const D z = select(beyond, fma(magnitude, D(-0.5), D(0.5)), magnitude * magnitude);
  const D root = sqrt(z);
  // The root's own error, where it is one.
  const D error = fma(-root, root, z) * D(0.5) * rough_inverse(root);
  const D s = select(beyond, root, magnitude);
  const D rest = fma(s * z, polynomial<Tail>(z), select(beyond, error, D(0.0)));
  const D twice = select(beyond, D(2.0), D(1.0));
  return {s * twice, rest * twice};
}

// asin and acos in the type of x; Pi is pi in two parts.
template <const auto &Tail, const auto &Pi, class D> inline D arc_sine(D x) {
  const D magnitude = abs(x);
  const Pair<D> arc = arc_of<Tail>(magnitude);
  const Pair<D> head = fast_two_sum(D(Pi[0] / 2), -arc.high);
  const D far = head.high + (head.low + (D(Pi[1] / 2) - arc.low));
  return flip_sign(select(magnitude > D(0.5), far, arc.high + arc.low), sign_of(x));
}
template <const auto &Tail, const auto &Pi, class D> inline D arc_cosine(D x) {
  const D magnitude = abs(x);
  const Pair<D> arc = arc_of<Tail>(magnitude);
  const auto beyond = magnitude > D(0.5);
  const auto right = x > D(0.0);
  const D base = select(beyond, select(right, D(0), D(Pi[0])), D(Pi[0] / 2));
  const D base_low = select(beyond, select(right, D(0), D(Pi[1])), D(Pi[1] / 2));
  // Taken from the base for 0 <= x <= 1/2 and for x < -1/2.
  const Bits<D> sign = sign_of(select(beyond, x, -x));
  const Pair<D> head = fast_two_sum(base, flip_sign(arc.high, sign));
  return head.high + (head.low + (base_low + flip_sign(arc.low, sign)));
}

inline constexpr double pi_double[] = {pi_1, pi_2};
inline constexpr float pi_float[] = {float(pi_1), float(pi_1 - double(float(pi_1)))};

// asin.
// Method: an odd polynomial up to 1/2; beyond, pi/2 - 2 asin(sqrt((1 - |x|) / 2)). Each type
// computes
//   in itself: f32 with degree 13, f64 with degree 27, the root as a pair.
// Error: f32 0.6 ulp; f64 0.7 ulp.
// Specials: asin(|x| > 1) = NaN, asin(+-0) = +-0, NaN stays NaN.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 11; Dekker 1971 for the sums.
template <class T, int N> inline Vec<T, N> asin(Vec<T, N> x) {
  if constexpr (sizeof(T) == 4)
    return arc_sine<asin_short_tail, pi_float>(x);
  else
    return arc_sine<asin_tail, pi_double>(x);
}

// acos.
// Method: pi/2 - asin x up to 1/2; beyond, 2 asin(sqrt((1 - |x|) / 2)), or pi minus that.
// Error: f32 0.6 ulp; f64 0.7 ulp.
// Specials: acos(1) = +0, acos(|x| > 1) = NaN, NaN stays NaN.
// Reference: as asin.
template <class T, int N> inline Vec<T, N> acos(Vec<T, N> x) {
  if constexpr (sizeof(T) == 4)
    return arc_cosine<asin_short_tail, pi_float>(x);
  else
    return arc_cosine<asin_tail, pi_double>(x);
}

namespace exact {

// f64 rounds all f32 arguments correctly, which were tried one by one against MPFR, but for two of
// acos and one of atan with either sign.
template <class T, int N> inline Vec<T, N> atan(Vec<T, N> x) {
  using F = Vec<T, N>;
  const F rounded = narrow<N>(lanes::atan<double, N>(widen<N>(x)));
  const F first = select(x == F(0x1.1ad646p-4f), F(0x1.1a6386p-4f), rounded);
  return select(x == F(-0x1.1ad646p-4f), F(-0x1.1a6386p-4f), first);
}
template <class T, int N> inline Vec<T, N> asin(Vec<T, N> x) {
  return narrow<N>(lanes::asin<double, N>(widen<N>(x)));
}
template <class T, int N> inline Vec<T, N> acos(Vec<T, N> x) {
  using F = Vec<T, N>;
  const F rounded = narrow<N>(lanes::acos<double, N>(widen<N>(x)));
  const F first = select(x == F(0x1.110b46p-26f), F(0x1.921fb6p+0f), rounded);
  return select(x == F(0x1.04c444p-12f), F(0x1.920f6ap+0f), first);
}

// Method: the f64 form, rounded. Where the quotient is the middle of two subnormal floats, the
// angle lies just below
//   it and must not be taken for it: a step of f64 towards zero says so, and crosses no other
//   middle, as quotients of floats that are no middles stay 2^-49 of their size away from them.
template <class T, int N> inline Vec<T, N> atan2(Vec<T, N> y, Vec<T, N> x) {
  using D = Vec<double, N>;
  const D angle = lanes::atan2<double, N>(widen<N>(y), widen<N>(x));
  const auto tiny = (abs(angle) < 0x1p-100) & (angle != 0.0);
  return narrow<N>(select(tiny, from_bits<D>(to_bits(angle) - 1), angle));
}

} // namespace exact

} // namespace broadloom::math::lanes
