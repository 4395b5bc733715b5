// log2, log10 and log1p.
//
// Problem: logarithms of other bases and of 1 + x, relative to results that vanish at 1, exact at
// powers of the base.
// Method: u = 2^k n / d with n / d near 1 and log u = k ln2 + 2 atanh(s), s = (n - d) / (n + d).
// Both differences are formed as pairs from what is known exactly: u itself, or 1 + x as a pair.
// Example: log2<float, 16>(x), log1p<double, 8>(x).
#pragma once

#include "math/coefficients/inverse_hyperbolic.hpp"
#include "math/functions/hyperbolic.hpp"
#include "math/functions/logarithm.hpp"
#include "math/functions/misrounded.hpp"
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

// True where x is subnormal, zero, negative, infinite or NaN.
template <class F> inline auto is_rare_single(F x) { return to_bits(x) - 0x00800000 >= 0x7f000000; }

// Where 1 + f begins in x = 2^k (1 + f): so that the terms beyond f are small beside the result,
// which is in the lower half of a binade.
inline constexpr std::uint32_t two_thirds = 0x3f2aaaab, root_half = 0x3f3504f3;
template <std::uint32_t Low, class F> inline LogReduced<F> log_reduce_from(F x) {
  const Bits<F> moved = to_bits(x) - Low;
  return {to_float<F>(shift_right_signed<F>(moved, 23)),
          from_bits<F>(to_bits(x) - (moved & 0xff800000)) - 1.0f};
}

// k exponent + f unit + f^2 Tail(f), with the products by constants as pairs.
template <const auto &Tail, std::uint32_t Low, class F>
inline F log_in_base_single(F x, Pair<Same<F>> exponent, Pair<Same<F>> unit) {
  LogReduced<F> e = log_reduce_from<Low>(x);
  const auto rare = is_rare_single(x);
  if (any<F>(rare)) [[unlikely]] {
    const LogReduced<F> scaled = log_reduce_from<Low>(x * 0x1p24f);
    const auto tiny = x < F(0x1p-126f);
    e = {select(tiny, scaled.k - 24.0f, e.k), select(tiny, scaled.f, e.f)};
  }
  const Pair<F> linear = two_product(e.f, unit.high);
  const Pair<F> head = fast_two_sum(e.k * exponent.high, linear.high);
  const F low = fma(e.k, exponent.low, head.low + fma(e.f, unit.low, linear.low));
  const F result = head.high + fma(e.f * e.f, polynomial<Tail>(e.f), low);
  if (any<F>(rare)) [[unlikely]]
    return select((x > F(0.0f)) & (x < F(infinity)), result, log_specials(x));
  return result;
}

// log(1 + x): 1 + x as a pair, whose low part is brought down to the scale of f.
template <class F> inline F log1p_single(F x) {
  const Pair<F> u = two_sum(F(1.0f), x);
  LogReduced<F> e = log_reduce_from<root_half>(u.high);
  const auto moved = (to_bits(u.high) - root_half) & 0xff800000; // k, in the place of an exponent
  const F scale = from_bits<F>(0x40000000 - moved);              // 2^(1 - k)
  const Pair<F> f = fast_two_sum(e.f, u.low * 0.5f * scale);
  const F factor = fma(polynomial<single_log_tail>(f.high), f.high, F(-0.5f));
  const Pair<F> head = fast_two_sum(e.k * single_ln2_short_1, f.high);
  const F low = fma(-f.low, f.high, f.low) + fma(e.k, F(single_ln2_short_2), head.low);
  const F result = select(abs(x) < F(0x1p-25f), x, head.high + fma(f.high * f.high, factor, low));
  const auto rare = is_rare_single(u.high);
  if (any<F>(rare)) [[unlikely]]
    return select(rare, log_specials(u.high), result);
  return result;
}

// log2.
// Method: k + log(1 + f)/ln2 for f32, k + atanh(s) 2/ln2 for f64, with the products by the constant
//   as pairs.
// Error: f32 0.92 ulp; f64 0.6 ulp; exact for powers of two.
// Specials: log2(+-0) = -inf, log2(x < 0) = NaN, log2(inf) = inf, log2(1) = +0, NaN stays NaN.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 11; Dekker 1971 for the pairs.
template <class T, int N> inline Vec<T, N> log2(Vec<T, N> x) {
  using V = Vec<T, N>;
  if constexpr (sizeof(T) == 4) {
    return log_in_base_single<single_log2_tail, two_thirds>(
        x, Pair<V>{V(1.0f), V(0.0f)}, Pair<V>{V(single_over_ln2_1), V(single_over_ln2_2)});
  } else {
    const auto ordinary = (x > 0.0) & (x < infinity);
    const V result = log_in_base(x, V(1.0), V(0.0), Pair<V>{V(two_over_ln2_1), V(two_over_ln2_2)});
    return select(ordinary, result, log_specials(x));
  }
}

// log10.
// Method, error, specials and reference as log2, with k log10(2) and 1/ln10; exact for the powers
// of
//   ten that are doubles (floats).
template <class T, int N> inline Vec<T, N> log10(Vec<T, N> x) {
  using V = Vec<T, N>;
  if constexpr (sizeof(T) == 4) {
    return log_in_base_single<single_log10_tail, root_half>(
        x, Pair<V>{V(single_exponent_log10_1), V(single_exponent_log10_2)},
        Pair<V>{V(single_over_ln10_1), V(single_over_ln10_2)});
  } else {
    const auto ordinary = (x > 0.0) & (x < infinity);
    const V result = log_in_base(x, V(exponent_log10_1), V(exponent_log10_2),
                                 Pair<V>{V(two_over_ln10_1), V(two_over_ln10_2)});
    return select(ordinary, result, log_specials(x));
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
// Method: u = 1 + x as a pair. f32: as log, with the low part of f beside it. f64: for k = 0 the
//   numerator is 2 x again, exactly. Below 2^-25 (2^-54) the result is x.
// Error: f32 0.91 ulp; f64 0.6 ulp.
// Specials: log1p(+-0) = +-0, log1p(-1) = -inf, log1p(x < -1) = NaN, log1p(inf) = inf, NaN stays
//   NaN.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 11; Dekker 1971 for the pairs.
template <class T, int N> inline Vec<T, N> log1p(Vec<T, N> x) {
  using V = Vec<T, N>;
  if constexpr (sizeof(T) == 4) {
    return log1p_single(x);
  } else {
    const Pair<V> u = two_sum(V(1.0), x);
    const auto ordinary = (u.high > 0.0) & (x < infinity);
    const Ratio<V> e = ratio_to_power(u);
    const V result = with_sign_of(log_of_ratio<atanh_tail>(e.k, e.n, e.d), x);
    return select(abs(x) < 0x1p-54, x, select(ordinary, result, log_specials(u.high)));
  }
}

namespace exact {
// log2: the f64 form, rounded; no argument is misrounded.
template <class T, int N> inline Vec<T, N> log2(Vec<T, N> x) {
  return narrow<N>(lanes::log2<double, N>(widen<N>(x)));
}

// log10: the f64 form, rounded and put right.
inline constexpr Misrounded log10_misrounded[] = {
    {0x1.fddcf4p-98f, -0x1.d33a46p+4f},
};
template <class T, int N> inline Vec<T, N> log10(Vec<T, N> x) {
  return put_right<log10_misrounded>(x, narrow<N>(lanes::log10<double, N>(widen<N>(x))));
}

// log1p: the f64 form, rounded and put right.
inline constexpr Misrounded log1p_misrounded[] = {
    {0x1.800006p-21f, 0x1.7ffffep-21f},   {0x1.200036p-17f, 0x1.1fffe6p-17f},
    {0x1.fb035ap-2f, 0x1.9bddc2p-2f},     {0x1.0f1fd6p+3f, 0x1.1fcbcep+1f},
    {0x1.b121a6p+76f, 0x1.a9a3f2p+5f},    {0x1.6351d8p+95f, 0x1.08b512p+6f},
    {-0x1.7ffffap-21f, -0x1.800002p-21f}, {-0x1.1fffcap-17f, -0x1.20001ap-17f},
    {-0x1.1d9188p-9f, -0x1.1de14ap-9f},
};
template <class T, int N> inline Vec<T, N> log1p(Vec<T, N> x) {
  return put_right<log1p_misrounded>(x, narrow<N>(lanes::log1p<double, N>(widen<N>(x))));
}
} // namespace exact

} // namespace broadloom::math::lanes
