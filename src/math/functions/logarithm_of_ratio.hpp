// log2, log10 and log1p.
//
// Problem: logarithms of other bases and of 1 + x, relative to results that vanish at 1, exact at
// powers of the base.
// Method: u = 2^k n / d with n / d near 1 and log u = k ln2 + 2 atanh(s), s = (n - d) / (n + d). Both
// differences are formed as pairs from what is known exactly: u itself, or 1 + x as a pair.
// Example: log2<float, 16>(x), log1p<double, 8>(x).
#pragma once

#include "math/coefficients/inverse_hyperbolic.hpp"
#include "math/functions/hyperbolic.hpp"
#include "math/functions/logarithm.hpp"
#include "math/simd.hpp"

namespace broadloom::math::lanes {

// u = 2^k m with m in [sqrt(1/2), sqrt(2)), for positive, finite, normal u.
template <class D> struct Significand {
  D k;
  D m2;           // 2 m
  Bits<D> biased; // k + 1023, in the place of an exponent
};
template <class D> inline Significand<D> significand_of(D u) {
  constexpr std::uint64_t low = 0x3fe6a09e667f3bcd; // sqrt(1/2)
  constexpr std::uint64_t one = 0x3ff0000000000000;
  const Bits<D> moved = to_bits(u) + (one - low);
  const Bits<D> m = (moved & 0x000fffffffffffff) + (low + (std::uint64_t{1} << 52));
  return {small_to_double<D>(moved >> 52) - 1023.0, from_bits<D>(m), moved & 0xfff0000000000000};
}

// atanh(n / d) = s + rest.
template <class D> struct AtanhSeries {
  D s;
  D rest;
};
template <const auto &Tail, class D> inline AtanhSeries<D> atanh_series(Pair<D> n, Pair<D> d) {
  const D inverse = 1.0 / d.high;
  const D s = n.high * inverse;
  const D remainder = fma(-s, d.high, n.high) + fma(-s, d.low, n.low);
  const D z = s * s;
  return {s, fma(remainder, inverse, z * s * polynomial<Tail>(z))};
}
// For f32, without the low parts.
template <const auto &Tail, class D> inline D atanh_short(D n, D d) {
  const D s = n / d;
  const D z = s * s;
  return fma(z * s, polynomial<Tail>(z), s);
}

// k ln2 + 2 atanh(n / d).
template <const auto &Tail, class D> inline D log_of_ratio(D k, Pair<D> n, Pair<D> d) {
  const AtanhSeries<D> a = atanh_series<Tail>(n, d);
  const Pair<D> head = fast_two_sum(k * exponent_ln2_1, a.s * 2.0);
  return head.high + fma(a.rest, D(2.0), fma(k, D(exponent_ln2_2), head.low));
}

// What log2 and log10 are made of: k of the exponent's unit plus atanh(s) in units of two.
template <class D> inline D log_in_base(D x, D exponent_1, D exponent_2, Pair<Same<D>> unit) {
  const auto tiny = x < 0x1p-1022;
  const Significand<D> u = significand_of(select(tiny, x * 0x1p54, x));
  const D k = u.k - select(tiny, D(54.0), D(0.0));
  const Pair<D> d = fast_two_sum(D(2.0), u.m2);
  const AtanhSeries<D> a = atanh_series<atanh_tail>(Pair<D>{u.m2 - 2.0, D(0.0)}, d);
  const Pair<D> first = two_product(a.s, unit.high);
  const Pair<D> head = fast_two_sum(k * exponent_1, first.high);
  const D low = fma(k, exponent_2, head.low + fma(a.s, unit.low, first.low));
  return head.high + fma(a.rest, unit.high, low);
}
template <class D> inline D log_in_base_short(D x, D exponent, D unit) {
  const Significand<D> u = significand_of(x);
  return fma(u.k, exponent, atanh_short<atanh_short_tail>(u.m2 - 2.0, u.m2 + 2.0) * unit);
}

// What a logarithm gives for x that is not positive and finite.
template <class D> inline D log_special(D x) {
  return select(x == 0.0, D(-infinity), select(x < 0.0, D(not_a_number), x));
}

// log2.
// Method: k + atanh(s) 2/ln2; f32 in f64, f64 with s 2/ln2 as a pair.
// Error: f32 0.5001 ulp; f64 0.6 ulp; exact for powers of two.
// Specials: log2(+-0) = -inf, log2(x < 0) = NaN, log2(inf) = inf, log2(1) = +0, NaN stays NaN.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 11; Dekker 1971 for the pairs.
template <class T, int N> inline Vec<T, N> log2(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const auto ordinary = (wide > 0.0) & (wide < infinity);
    const D result = log_in_base_short(wide, D(1.0), D(two_over_ln2_1));
    return narrow<N>(select(ordinary, result, log_special(wide)));
  } else {
    const auto ordinary = (x > 0.0) & (x < infinity);
    const D result = log_in_base(x, D(1.0), D(0.0), Pair<D>{D(two_over_ln2_1), D(two_over_ln2_2)});
    return select(ordinary, result, log_special(x));
  }
}

// log10.
// Method, error, specials and reference as log2, with k log10(2) + atanh(s) 2/ln10; exact for the
//   powers of ten that are doubles (floats).
template <class T, int N> inline Vec<T, N> log10(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const auto ordinary = (wide > 0.0) & (wide < infinity);
    const D result = log_in_base_short(wide, D(exponent_log10_1), D(two_over_ln10_1));
    return narrow<N>(select(ordinary, result, log_special(wide)));
  } else {
    const auto ordinary = (x > 0.0) & (x < infinity);
    const D result = log_in_base(x, D(exponent_log10_1), D(exponent_log10_2),
                                 Pair<D>{D(two_over_ln10_1), D(two_over_ln10_2)});
    return select(ordinary, result, log_special(x));
  }
}

// u = 2^k n' / d' of a pair u with a significand of high that is near 1: 2 (m - 1) and 2 (m + 1),
// to which low / 2^k is added on the same scale. 2^(1 - k) exists for every k.
template <class D> struct Ratio {
  D k;
  Pair<D> n;
  Pair<D> d;
};
template <class D> inline Ratio<D> ratio_to_power(Pair<D> u) {
  const Significand<D> e = significand_of(u.high);
  const D scale = from_bits<D>((std::uint64_t{2047} << 52) - e.biased);
  const D low = u.low * scale;
  Pair<D> d = fast_two_sum(D(2.0), e.m2);
  d.low = d.low + low;
  return {e.k, fast_two_sum(e.m2 - 2.0, low), d};
}

// log1p.
// Method: u = 1 + x as a pair. For k = 0 the numerator is 2 x again, exactly. f32 in f64, where
//   only k = 0 needs x itself. Below 2^-54 the result is x.
// Error: f32 0.5001 ulp; f64 0.7 ulp.
// Specials: log1p(+-0) = +-0, log1p(-1) = -inf, log1p(x < -1) = NaN, log1p(inf) = inf, NaN stays
//   NaN.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 11; Dekker 1971 for the pairs.
template <class T, int N> inline Vec<T, N> log1p(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const D sum = wide + 1.0;
    const auto ordinary = (sum > 0.0) & (wide < infinity);
    const Significand<D> u = significand_of(sum);
    const D n = select(u.k == 0.0, wide * 2.0, u.m2 - 2.0);
    const D atanh = atanh_short<atanh_short_tail>(n, u.m2 + 2.0);
    const D result = with_sign_of(fma(u.k, D(exponent_ln2_1), atanh * 2.0), wide);
    return narrow<N>(select(ordinary, result, log_special(sum)));
  } else {
    const Pair<D> u = two_sum(D(1.0), x);
    const auto ordinary = (u.high > 0.0) & (x < infinity);
    const Ratio<D> e = ratio_to_power(u);
    const D result = with_sign_of(log_of_ratio<atanh_tail>(e.k, e.n, e.d), x);
    return select(abs(x) < 0x1p-54, x, select(ordinary, result, log_special(u.high)));
  }
}

} // namespace broadloom::math::lanes
