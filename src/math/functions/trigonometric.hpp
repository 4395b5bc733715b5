// sin and cos over the full range.
//
// Problem: the argument must be reduced modulo pi/2 without losing bits, for |x| up to 2^1024,
// where a double can come within 2^-61 of a multiple of pi/2.
// Method: up to 2^30, pi/2 is a sum of three doubles and the first product is subtracted exactly by
// fma (x and the product are multiples of 2^-52 and their difference is below 2). Beyond, a cold
// path multiplies the 53 bits of x by the 192 digits of 2/pi that matter (Payne and Hanek), lane by
// lane, in integers.
// Example: sin<float, 16>(x), cos<double, 1>(x).
#pragma once

#include <bit>

#include "math/coefficients/basic.hpp"
#include "math/coefficients/single.hpp"
#include "math/simd.hpp"
#include "math/ties.hpp"

namespace broadloom::math::lanes {

inline constexpr double huge_angle = 0x1p30;

// x = quadrant * pi/2 + high + low modulo 2 pi, |high| <= pi/4.
template <class D> struct Angle {
  Bits<D> quadrant;
  Pair<D> r;
};

// For x >= 2^30: huge_angle.hpp. A kernel that has a sine calls this one function of the library,
// which is not worth being compiled anew for each.
extern "C" [[gnu::cold]] void bl_huge_angle(double x, Angle<double> *angle);

template <class D> [[gnu::noinline, gnu::cold]] void patch_huge(const D &x, Angle<D> &angle) {
  for (int i = 0; i < lanes_of<D>; ++i) {
    if (!(lane(x, i) >= huge_angle)) continue;
    Angle<double> found;
    bl_huge_angle(lane(x, i), &found);
    set_lane(angle.quadrant, i, found.quadrant);
    set_lane(angle.r.high, i, found.r.high);
    set_lane(angle.r.low, i, found.r.low);
  }
}

// For x >= 0 or NaN.
template <class D> inline Angle<D> reduce_quarter_turns(D x) {
  constexpr double shifter = 0x1.8p52;
  const D shifted = fma(x, D(two_over_pi), D(shifter));
  const D n = shifted - shifter;
  const D exact = fma(n, D(-half_pi_1), x);
  const Pair<D> second = two_product(n, D(half_pi_2));
  const Pair<D> r = two_sum(exact, -second.high);
  Angle<D> angle{to_bits(shifted), {r.high, fma(n, D(-half_pi_3), r.low - second.low)}};
  if (any<D>(x >= huge_angle)) [[unlikely]] {
    // Copies, so that the hot path keeps its values in registers.
    const D copy = x;
    Angle<D> patched = angle;
    patch_huge<D>(copy, patched);
    angle = patched;
  }
  return angle;
}

// Leading terms and small rests of the sine and cosine of |high| <= pi/4 with its low part:
// sin r = r + (low (1 - r^2/2) + r^3 S(r^2)); cos r = 1 - r^2/2 exactly, + r^4 C(r^2) - r low.
template <class D> struct SineAndCosine {
  Pair<D> sine, cosine;
};
template <class D> inline SineAndCosine<D> sine_and_cosine(Pair<D> angle) {
  const auto [r, low] = angle;
  const Pair<D> z = two_product(r, r);
  const D half = z.high * 0.5;
  const D sin_rest = fma(z.high * r, polynomial<sin_tail>(z.high), fma(-half, low, low));
  const Pair<D> head = fast_two_sum(D(1.0), -half);
  const D cos_rest = fma(z.high * z.high, polynomial<cos_tail>(z.high),
                         fma(-r, low, fma(z.low, D(-0.5), head.low)));
  return {{r, sin_rest}, {head.high, cos_rest}};
}

// sin (QuarterTurns = 0) or cos (1) of x >= 0 in f64, sign included.
template <int QuarterTurns, class D> inline D sine(D x) {
  const Angle<D> angle = reduce_quarter_turns(x);
  const Bits<D> quadrant = angle.quadrant + QuarterTurns;
  const auto [sine, cosine] = sine_and_cosine(angle.r);
  const auto odd = (quadrant & 1) != 0;
  const D value = select(odd, cosine.high, sine.high) + select(odd, cosine.low, sine.low);
  return flip_sign(value, (quadrant & 2) << 62);
}

// f32 in f64, either sign: the angle w in [-pi/2, pi/2] with sin w = sin x, or sin w = cos x for
// one quarter turn. x = (n + QuarterTurns / 2) pi + r; sin and cos are then (-1)^n sin r and
// -(-1)^n sin r. The parity of n is the last bit of the shifted value, which an odd shifter inverts
// for cos.
template <int QuarterTurns, class D> inline D reduce_half_turns(D x) {
  constexpr double shifter = 0x1.8p52 + QuarterTurns;
  D shifted;
  D turns;
  if constexpr (QuarterTurns == 0) {
    shifted = fma(x, D(inverse_pi), D(shifter));
    turns = shifted - shifter;
  } else {
    shifted = fma(x, D(inverse_pi), D(-0.5)) + shifter;
    turns = (shifted - shifter) + 0.5;
  }
  const D r = fma(turns, D(-pi_2), fma(turns, D(-pi_1), x));
  return flip_sign(r, to_bits(shifted) << 63);
}

template <int QuarterTurns, class D>
[[gnu::noinline, gnu::cold]] void patch_huge_short(const D &x, D &w) {
  for (int i = 0; i < lanes_of<D>; ++i) {
    const double magnitude = abs(lane(x, i));
    if (!(magnitude >= huge_angle)) continue;
    Angle<double> found;
    bl_huge_angle(magnitude, &found);
    const std::uint64_t quadrant = found.quadrant + QuarterTurns;
    const double r = found.r.high;
    const double folded = quadrant & 1 ? half_pi_1 - abs(r) : r;
    const bool negative = (quadrant & 2) != (QuarterTurns == 0 && lane(x, i) < 0 ? 2 : 0);
    set_lane(w, i, negative ? -folded : folded);
  }
}

// sin or cos of f32 in f64, (sin(r) - r) / r^3 given by `Tail`. As a product, which keeps -0.
template <int QuarterTurns, const auto &Tail, int N>
inline Vec<double, N> sine_of_single(Vec<float, N> x) {
  using D = Vec<double, N>;
  const D wide = widen<N>(x);
  D w = reduce_half_turns<QuarterTurns>(wide);
  if (any<Vec<float, N>>(abs(x) >= Vec<float, N>(huge_angle))) [[unlikely]] {
    const D copy = wide;
    D patched = w;
    patch_huge_short<QuarterTurns, D>(copy, patched);
    w = patched;
  }
  const D z = w * w;
  return w * fma(z, polynomial<Tail>(z), D(1.0));
}

// sin.
// Method: f32: reduction modulo pi in f64, odd polynomial of degree 9 on [-pi/2, pi/2].
//   f64: reduction modulo pi/2 to a pair, polynomials of degree 13 (sin) and 14 (cos) on
//   [-pi/4, pi/4], leading terms exact. The sign of x is taken off and put back, which keeps -0.
// Error: f32 0.6 ulp; f64 0.8 ulp, for every argument.
// Specials: sin(+-0) = +-0, sin(+-inf) = NaN, NaN stays NaN.
// Reference: Payne and Hanek 1983; Muller, Elementary Functions (3rd ed.), ch. 11.
template <class T, int N> inline Vec<T, N> sin(Vec<T, N> x) {
  if constexpr (sizeof(T) == 4)
    return narrow<N>(sine_of_single<0, sin_brief_tail, N>(x));
  else
    return flip_sign(sine<0>(abs(x)), sign_of(x));
}

// cos.
// Method, error and reference as sin, a quarter turn on.
// Specials: cos(+-0) = 1, cos(+-inf) = NaN, NaN stays NaN.
template <class T, int N> inline Vec<T, N> cos(Vec<T, N> x) {
  if constexpr (sizeof(T) == 4)
    return narrow<N>(sine_of_single<1, sin_brief_tail, N>(x));
  else
    return sine<1>(abs(x));
}

namespace exact {
// sin and cos.
// Method: as above with a polynomial of degree 13.
inline constexpr Settled sin_settled[] = {
    {0x1.33333p+13f, -0x1.63f4bafffffffp-2},
    {-0x1.33333p+13f, 0x1.63f4bafffffffp-2},
};
template <class T, int N> inline Vec<T, N> sin(Vec<T, N> x) {
  return settle<12, sin_settled>(x, sine_of_single<0, sin_short_tail, N>(x),
                                 [&] { return lanes::sin<double, N>(widen<N>(x)); });
}
inline constexpr Settled cos_settled[] = {
    {0x1.3170f0p+63f, 0x1.fe2976fffffffp-1},
    {-0x1.3170f0p+63f, 0x1.fe2976fffffffp-1},
    {0x1.2b9622p+67f, 0x1.f0285d0000001p-1},
    {-0x1.2b9622p+67f, 0x1.f0285d0000001p-1},
};
template <class T, int N> inline Vec<T, N> cos(Vec<T, N> x) {
  return settle<12, cos_settled>(x, sine_of_single<1, sin_short_tail, N>(x),
                                 [&] { return lanes::cos<double, N>(widen<N>(x)); });
}
} // namespace exact

} // namespace broadloom::math::lanes
