// exp2, expm1, sinh and cosh.
//
// Problem: exact results of exp2 at integers; expm1 and sinh relative to results that vanish with
// x; sinh and cosh beyond the x where e^x overflows.
// Method: the reduction of exp, x = k ln2 + r. What is left of 2^k e^r when 1 or e^-x is taken off
// is put together from exact powers of two and the small series in r, with no quotient: for
// sinh and cosh, e^+-x = 2^+-k (cosh r +- sinh r).
// Example: expm1<double, 8>(x), sinh<float, 16>(x).
#pragma once

#include "math/coefficients/hyperbolic.hpp"
#include "math/coefficients/single.hpp"
#include "math/functions/exponential.hpp"
#include "math/functions/misrounded.hpp"
#include "math/lookup.hpp"
#include "math/simd.hpp"

namespace broadloom::math::lanes {

// |x| with the sign of `from`, for x whose sign is the same or lost.
template <class D> inline D with_sign_of(D x, Same<D> from) {
  return from_bits<D>(to_bits(x) | sign_of(from));
}

// exp2.
// Method: x = n + r exactly. f32: n a multiple of 1/8, 2^fraction(n) as a pair from exp's table of
//   8, 2^r - 1 by four coefficients. f64: n an integer, |r| <= 1/2, 1 + r q(r), scaled in two
//   steps.
// Error: f32 0.77 ulp; f64 0.9 ulp, also where the result is subnormal; exact for integers.
// Specials: exp2(-inf) = 0, exp2(inf) = inf, NaN stays NaN, overflow gives inf.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 11; Tang, ACM TOMS 15 (1989), 144-157.
template <class T, int N> inline Vec<T, N> exp2(Vec<T, N> x) {
  using V = Vec<T, N>;
  if constexpr (sizeof(T) == 4) {
    constexpr float shifter = 0x1.8p20f + 254;
    const V bounded = clamp(x, -155.0, 130.0);
    const V shifted = bounded + shifter;
    const V n = shifted - shifter;
    const V r = bounded - n;
    const V p = r * polynomial<exp2_eighth_quotient>(r);
    const Bits<V> index = to_bits(shifted);
    const V head = lookup<eighth_powers, V>(index);
    const V rest = fma(head, p, lookup<eighth_powers_rest, V>(index));
    return scale(head + rest, n, index >> 3);
  } else {
    constexpr double shifter = 0x1.8p52 + 2046;
    const V bounded = clamp(x, -1100.0, 1030.0);
    const V shifted = bounded + shifter;
    const V r = bounded - (shifted - shifter);
    return scale_in_two_steps(fma(r, polynomial<exp2_quotient>(r), V(1.0)), to_bits(shifted));
  }
}

// expm1.
// Method: (2^k - 1) + 2^k (e^r - 1). f32 in f64. f64 adds the exact difference and 2^k r exactly,
//   then the rest of the series; everything is halved where 2^k may overflow. Below 2^-54 the
//   result is x.
// Error: f32 0.501 ulp; f64 0.85 ulp.
// Specials: expm1(+-0) = +-0, expm1(-inf) = -1, expm1(inf) = inf, NaN stays NaN.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 11; Dekker 1971 for the sums.
template <class T, int N> inline Vec<T, N> expm1(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const ExpReduced<D> e = exp_reduce<1023>(clamp(wide, -100.0, 200.0));
    const D r = e.r.high;
    const D scale = power_of_two<D>(e.biased);
    const D series = fma(r * r, polynomial<expm1_short_tail>(r), r);
    return narrow<N>(with_sign_of(fma(scale, series, scale - 1.0), wide));
  } else {
    const ExpReduced<D> e = exp_reduce<1022>(clamp(x, -60.0, 710.0));
    const D r = e.r.high;
    const D scale = power_of_two<D>(e.biased); // 2^(k - 1)
    const D half = fma(r, polynomial<expm1_tail>(r), D(0.5));
    const D rest = fma(r * r, half, fma(e.r.low, r, e.r.low));
    const D difference = scale - 0.5;
    const D lost = (scale - difference) - 0.5;
    const Pair<D> head = fast_two_sum(difference, scale * r);
    const D result = (head.high + fma(scale, rest, head.low + lost)) * 2.0;
    return select(abs(x) < 0x1p-54, x, result);
  }
}

// e^|x| / 2 and e^-|x| / 2 in parts: |x| = k ln2 + r, and 2^(k - 1) +- 2^(-k - 1) times 2^-Down.
template <class D> struct Halves {
  Pair<D> r;
  D sum;
  D difference;
  D lost; // difference + lost is exact
};
template <int Down, class D> inline Halves<D> split_halves(D magnitude) {
  const ExpReduced<D> e = exp_reduce<1022 - Down>(magnitude);
  const Bits<D> biased = e.biased << 52;
  const D grown = from_bits<D>(biased);
  // 2^(-k - 1), where it still matters.
  const D inverse = from_bits<D>((std::uint64_t{2044 - 2 * Down} << 52) - biased);
  const D shrunk = select(e.k > 100.0, D(0.0), inverse);
  const D difference = grown - shrunk;
  return {e.r, grown + shrunk, difference, (grown - difference) - shrunk};
}

// cosh r and sinh r for |r| <= ln2/2, short of f64 but more than f32 needs.
template <class D> struct CoshAndSinh {
  D cosh, sinh;
};
template <class D> inline CoshAndSinh<D> cosh_and_sinh_short(D r) {
  const D z = r * r;
  return {fma(z, fma(z, polynomial<cosh_short_tail>(z), D(0.5)), D(1.0)),
          fma(z * r, polynomial<sinh_short_tail>(z), r)};
}

// sinh.
// Method: with p = 2^(k - 1) and n = 2^(-k - 1), sinh |x| = (p - n) cosh r + (p + n) sinh r. f32 in
//   f64. f64 takes (p - n) + (p + n) r exactly, and the rest of both series, below 0.1, is added
//   last; p and n are quartered, since p may overflow alone. Below 2^-28 the result is x.
// Error: f32 0.503 ulp; f64 0.85 ulp.
// Specials: sinh(+-0) = +-0, sinh(+-inf) = +-inf, NaN stays NaN.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 11; Dekker 1971 for the sums.
template <class T, int N> inline Vec<T, N> sinh(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const Halves<D> e = split_halves<0>(clamp(abs(wide), 0.0, 100.0));
    const auto [cosh_r, sinh_r] = cosh_and_sinh_short(e.r.high);
    return narrow<N>(with_sign_of(fma(e.difference, cosh_r, e.sum * sinh_r), wide));
  } else {
    const Halves<D> e = split_halves<2>(clamp(abs(x), 0.0, 711.0));
    const auto [r, low] = e.r;
    const D z = r * r;
    const D cosh_rest = z * fma(z, polynomial<cosh_tail>(z), D(0.5));
    const D sinh_rest = z * r * polynomial<sinh_tail>(z);
    const Pair<D> linear = two_product(e.sum, r);
    const Pair<D> head = fast_two_sum(e.difference, linear.high);
    const D from_low = fma(low, fma(e.difference, r, e.sum), linear.low + (head.low + e.lost));
    const D rest = fma(e.difference, cosh_rest, fma(e.sum, sinh_rest, from_low));
    const D result = (head.high + rest) * 4.0;
    return select(abs(x) < 0x1p-28, x, with_sign_of(result, x));
  }
}

// cosh.
// Method and reference as sinh: cosh x = (p + n) cosh r + (p - n) sinh r.
// Error: f32 0.503 ulp; f64 0.85 ulp.
// Specials: cosh(+-0) = 1, cosh(+-inf) = inf, NaN stays NaN.
template <class T, int N> inline Vec<T, N> cosh(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const Halves<D> e = split_halves<0>(clamp(abs(widen<N>(x)), 0.0, 100.0));
    const auto [cosh_r, sinh_r] = cosh_and_sinh_short(e.r.high);
    return narrow<N>(fma(e.sum, cosh_r, e.difference * sinh_r));
  } else {
    const Halves<D> e = split_halves<2>(clamp(abs(x), 0.0, 711.0));
    const auto [r, low] = e.r;
    const D z = r * r;
    const D cosh_rest = z * fma(z, polynomial<cosh_tail>(z), D(0.5));
    const D sinh_rest = z * r * polynomial<sinh_tail>(z);
    const Pair<D> linear = two_product(e.difference, r);
    const Pair<D> head = fast_two_sum(e.sum, linear.high);
    // The sum of p and n loses what their difference does, with the other sign.
    const D from_low = fma(low, fma(e.sum, r, e.difference), linear.low + (head.low - e.lost));
    const D rest = fma(e.sum, cosh_rest, fma(e.difference, sinh_rest, from_low));
    return (head.high + rest) * 4.0;
  }
}

namespace exact {
// exp2: the f64 form, rounded and put right.
inline constexpr Misrounded exp2_misrounded[] = {
    {0x1.853a6ep-9f, 0x1.00870ap+0f},
    {-0x1.e7526ep-6f, 0x1.f58d62p-1f},
};
template <class T, int N> inline Vec<T, N> exp2(Vec<T, N> x) {
  return put_right<exp2_misrounded>(x, narrow<N>(lanes::exp2<double, N>(widen<N>(x))));
}

// expm1: the f64 form, rounded; no argument is misrounded.
template <class T, int N> inline Vec<T, N> expm1(Vec<T, N> x) {
  return narrow<N>(lanes::expm1<double, N>(widen<N>(x)));
}

// sinh: the f64 form, rounded and put right.
inline constexpr Misrounded sinh_misrounded[] = {
    {0x1.250bfep-11f, 0x1.250bfep-11f},
    {-0x1.250bfep-11f, -0x1.250bfep-11f},
};
template <class T, int N> inline Vec<T, N> sinh(Vec<T, N> x) {
  return put_right<sinh_misrounded>(x, narrow<N>(lanes::sinh<double, N>(widen<N>(x))));
}

// cosh: the f64 form, rounded; no argument is misrounded.
template <class T, int N> inline Vec<T, N> cosh(Vec<T, N> x) {
  return narrow<N>(lanes::cosh<double, N>(widen<N>(x)));
}
} // namespace exact

} // namespace broadloom::math::lanes
