// log and pow.
//
// Problem: log within one ulp also next to 1, where it vanishes; pow, which multiplies the error of
// the logarithm by up to 750 and has the longest list of special cases in C.
// Method: x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), log(1 + f) = 2 atanh(s) with
// s = f / (2 + f), |s| < 0.172: f is exact and the odd series in s keeps relative accuracy near 1.
// Example: log<float, 16>(x), pow<double, 8>(x, y).
#pragma once

#include "math/coefficients/basic.hpp"
#include "math/coefficients/single.hpp"
#include "math/functions/exponential.hpp"
#include "math/lookup.hpp"
#include "math/simd.hpp"
#include "math/ties.hpp"

namespace broadloom::math::lanes {

inline constexpr double infinity = __builtin_huge_val();
inline constexpr double not_a_number = __builtin_nan("");

template <class D> struct LogReduced {
  D k;
  D f;
};

// For positive, finite, normal x. Adding the distance from sqrt(1/2) to 1 in bits carries into the
// exponent exactly where the significand is sqrt(2) or more.
template <class D> inline LogReduced<D> log_reduce(D x) {
  constexpr std::uint64_t low = 0x3fe6a09e667f3bcd; // sqrt(1/2)
  constexpr std::uint64_t one = 0x3ff0000000000000;
  const Bits<D> moved = to_bits(x) + (one - low);
  const D significand = from_bits<D>((moved & 0x000fffffffffffff) + low);
  return {small_to_double<D>(moved >> 52) - 1023.0, significand - 1.0};
}

// The same for positive finite x, subnormal too.
template <class D> inline LogReduced<D> log_reduce_any(D x) {
  const auto tiny = x < 0x1p-1022;
  LogReduced<D> e = log_reduce(select(tiny, x * 0x1p54, x));
  e.k = e.k - select(tiny, D(54.0), D(0.0));
  return e;
}

// log of f32 in f64, for positive finite x: relative error 2^-44.
template <class D> inline D log_short(D x) {
  const LogReduced<D> e = log_reduce(x);
  const D s = e.f / (e.f + 2.0);
  const D z = s * s;
  return fma(e.k, D(ln2_1), s * fma(z, polynomial<log_short_tail>(z), D(2.0)));
}

// An integer as a float, exactly for |n| <= 2^24.
template <class F> inline F to_float(Same<Bits<F>> n) {
  if constexpr (lanes_of<F> == 1) {
    return static_cast<float>(static_cast<std::int32_t>(n));
  } else {
#if defined(__clang__)
    return __builtin_convertvector(std::bit_cast<Vec<std::int32_t, lanes_of<F>>>(n), F);
#endif
  }
}

// The same in f32.
template <class F> inline LogReduced<F> log_reduce_single(F x) {
  constexpr std::uint32_t low = 0x3f3504f3; // sqrt(1/2)
  const Bits<F> moved = to_bits(x) - low;
  const Bits<F> k = shift_right_signed<F>(moved, 23);
  return {to_float<F>(k), from_bits<F>(to_bits(x) - (moved & 0xff800000)) - 1.0f};
}

// What is neither positive nor finite, and NaN.
template <class D> inline D log_specials(D x) {
  return select(x == D(0.0), D(-infinity), select(x < D(0.0), D(not_a_number), x));
}

// log of f32: f and k ln2 summed exactly, f^2 (f P(f) - 1/2) added last.
template <class F> inline F log_single(F x) {
  LogReduced<F> e = log_reduce_single(x);
  // Neither subnormal, zero, negative, infinite nor NaN.
  const auto rare = to_bits(x) - 0x00800000 >= 0x7f000000;
  if (any<F>(rare)) [[unlikely]] {
    const LogReduced<F> scaled = log_reduce_single(x * 0x1p24f);
    const auto tiny = x < F(0x1p-126f);
    e = {select(tiny, scaled.k - 24.0f, e.k), select(tiny, scaled.f, e.f)};
  }
  const F whole = e.k * single_ln2_short_1;
  const Pair<F> head = fast_two_sum(whole, e.f);
  const F rest = fma(e.k, F(single_ln2_short_2), head.low);
  const F factor = fma(polynomial<single_log_tail>(e.f), e.f, F(-0.5f));
  const F result = head.high + fma(e.f * e.f, factor, rest);
  if (any<F>(rare)) [[unlikely]]
    return select((x > F(0.0)) & (x < F(infinity)), result, log_specials(x));
  return result;
}

// log.
// Method: x = 2^k (1 + f). f32: f - f^2/2 + f^3 P(f) + k ln2 with a compensated sum of f and k ln2.
//   f64: f - (f^2/2 - s (f^2/2 + s^2 R(s^2))) + k ln2, equal to the same series but with an exact
//   leading term; k ln2, f and f^2/2 are summed exactly and the rest, below 0.05, is added last.
// Error: f32 0.88 ulp; f64 0.6 ulp.
// Specials: log(+-0) = -inf, log(x < 0) = NaN, log(inf) = inf, log(1) = +0, NaN stays NaN.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 11; Dekker 1971 for the sums.
template <class T, int N> inline Vec<T, N> log(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    return log_single(x);
  } else {
    const auto ordinary = (x > 0.0) & (x < infinity);
    const LogReduced<D> e = log_reduce_any(x);
    const D s = e.f / (e.f + 2.0);
    const D z = s * s;
    const D half = e.f * 0.5;
    const Pair<D> half_square = two_product(e.f, half);
    const Pair<D> first = fast_two_sum(e.k * ln2_short_1, e.f);
    const Pair<D> second = fast_two_sum(first.high, -half_square.high);
    const D series = s * fma(z, polynomial<log_tail>(z), half_square.high);
    const D low = (first.low + second.low) + fma(e.k, D(ln2_short_2), -half_square.low);
    return select(ordinary, second.high + (series + low), log_specials(x));
  }
}

namespace exact {
// log.
// Method: 2 s + s^3 R(s^2) + k ln2 in f64, s = f / (2 + f).
inline constexpr Settled log_settled[] = {
    {0x1.827a74p-7f, -0x1.1c2b1efffffffp+2}, {0x1.bacb4ap+25f, 0x1.1e06950000001p+4},
    {0x1.b121a6p+76f, 0x1.a9a3f10000001p+5}, {0x1.2f1fd6p+3f, 0x1.1fcbcefffffffp+1},
    {0x1.6351d8p+95f, 0x1.08b5110000001p+6},
};
template <class T, int N> inline Vec<T, N> log(Vec<T, N> x) {
  const Vec<double, N> wide = widen<N>(x);
  const auto ordinary = (wide > 0.0) & (wide < infinity);
  return settle<12, log_settled>(x, select(ordinary, log_short(wide), log_specials(wide)),
                                 [&] { return lanes::log<double, N>(wide); });
}
} // namespace exact

// log of positive finite x as a pair, relative error about 2^-65.
// 2 (s + s^3/3 + s^5 Q(s^2)): s, s^2, the factor 1/3 + s^2 Q and their products are pairs; Q is
// small enough for plain doubles.
template <class D> inline Pair<D> log_pair(D x) {
  const LogReduced<D> e = log_reduce_any(x);
  const Pair<D> divisor = fast_two_sum(D(2.0), e.f);
  const D inverse = 1.0 / divisor.high;
  const D quotient = e.f * inverse;
  const D remainder = fma(-quotient, divisor.low, fma(-quotient, divisor.high, e.f));
  const Pair<D> s{quotient, remainder * inverse};
  const Pair<D> z = multiply(s, s);
  const D q = polynomial<log_pair_tail>(z.high);
  Pair<D> factor = fast_two_sum(D(third_1), z.high * q);
  factor.low = fma(z.low, q, factor.low + third_2);
  const Pair<D> cubic = multiply(s, multiply(z, factor));
  const Pair<D> series = fast_two_sum(s.high, cubic.high);
  const Pair<D> sum = fast_two_sum(e.k * ln2_short_1, series.high * 2.0);
  const D low = fma(series.low + (s.low + cubic.low), D(2.0), e.k * ln2_short_2);
  return fast_two_sum(sum.high, sum.low + low);
}

// What C Annex F prescribes, whatever y log|x| gave. `magnitude` is |x|^y for ordinary arguments;
// all in f64, which holds every f32 exactly.
template <class D> inline D pow_specials(D x, D y, D magnitude) {
  // Nothing to do for positive finite x and finite y: log 1 and a product with zero are exact.
  const auto ordinary = (x > 0.0) & (x < infinity) & (abs(y) < infinity);
  if (!any<D>(!ordinary)) [[likely]]
    return magnitude;
  const D ax = abs(x);
  const auto y_infinite = abs(y) == infinity;
  const auto y_integer = rint(y) == y;
  const D half_y = y * 0.5;
  const auto y_odd = y_integer & (rint(half_y) != half_y);
  const auto x_edge = (ax == 0.0) | (ax == infinity);
  // |x| is 0 or infinite, or y is: grows where the base is large and y positive, or the reverse.
  const auto grows = (ax > 1.0) == (y > 0.0);
  D result = select(x_edge | y_infinite, select(grows, D(infinity), D(0.0)), magnitude);
  result = select(y_infinite & (ax == 1.0), D(1.0), result);
  const auto negative_fraction = (x < 0.0) & (ax != infinity) & !y_integer;
  result = select(negative_fraction, D(not_a_number), result);
  result = select(y_odd, flip_sign(result, sign_of(x)), result);
  result = select((x != x) | (y != y), D(not_a_number), result);
  return select((y == 0.0) | (x == 1.0), D(1.0), result);
}

// pow of f64; see there.
template <class D> inline D pow_double(D x, D y) {
  const Pair<D> log_x = log_pair(abs(x));
  const D product = y * log_x.high;
  const D low = fma(y, log_x.low, fma(y, log_x.high, -product));
  const D exponent = clamp(product, -800.0, 800.0);
  ExpReduced<D> e = exp_reduce<2046>(exponent);
  e.r.low = e.r.low + select(exponent == product, low, D(0.0));
  e.r = fast_two_sum(e.r.high, e.r.low);
  return pow_specials(x, y, scale_in_two_steps(exp_of_reduced(e.r), e.biased));
}

namespace exact {
// pow.
// Method: log and exp of f64 with short polynomials.
template <class T, int N> inline Vec<T, N> pow(Vec<T, N> x, Vec<T, N> y) {
  using D = Vec<double, N>;
  const D wide_x = widen<N>(x);
  const D wide_y = widen<N>(y);
  const D exponent = clamp(wide_y * log_short(abs(wide_x)), -200.0, 200.0);
  const ExpReduced<D> e = exp_reduce<1023>(exponent);
  const D p = fma(e.r.high * e.r.high, polynomial<exp_short_tail>(e.r.high), e.r.high) + 1.0;
  const D power = pow_specials(wide_x, wide_y, p * power_of_two<D>(e.biased));
  return settle<19, none_settled>(x, power, [&] { return pow_double(wide_x, wide_y); });
}
} // namespace exact

// pow of f32; see there.
template <int N> inline Vec<float, N> pow_single(Vec<float, N> x, Vec<float, N> y) {
  using D = Vec<double, N>;
  using F = Vec<float, N>;
  constexpr std::uint32_t low = 0x3f400000; // 3/4
  const Bits<F> moved = to_bits(abs(x)) - low;
  const F m = from_bits<F>(to_bits(abs(x)) - (moved & 0xff800000));
  const Bits<F> interval = moved >> 19;
  const D k = widen<N>(to_float<F>(shift_right_signed<F>(moved, 23)));
  const D f = fma(widen<N>(m), widen<N>(lookup<log2_center, F>(interval)), D(-1.0));
  const D whole = k + widen<N>(lookup<log2_whole, F>(interval));
  const D log2_x = fma(f, polynomial<log2_brief>(f), whole);
  const D exponent = clamp(widen<N>(y) * log2_x, -200.0, 200.0);
  constexpr double shifter = 0x1.8p49;
  const D rounded = (exponent + shifter) - shifter;
  const F r = narrow<N>(exponent - rounded);
  const F n = narrow<N>(rounded);
  const Bits<F> index = to_bits(n + F(0x1.8p20f + 254));
  const F head = lookup<eighth_powers, F>(index);
  const F p = r * polynomial<exp2_eighth>(r);
  const F rest = fma(head, p, lookup<eighth_powers_rest, F>(index));
  const F result = scale(head + rest, n, index >> 3);
  // x subnormal, zero, negative, infinite or NaN, and y infinite or NaN
  const Bits<F> normal = to_bits(x) - 0x00800000;
  const F magnitude = abs(y);
  const auto rare = (normal >= 0x7f000000) | !(magnitude < F(infinity));
  if (any<F>(rare)) [[unlikely]]
    return select(rare, exact::pow<float, N>(x, y), result);
  return result;
}

// pow.
// Method: |x|^y = e^(y log|x|), then signs and special cases by selection.
//   f32: log2 |x| = k - log2 c + log2(1 + f), f = c |x| / 2^k - 1 exactly and in f64, with 16
//   floats c whose logarithms are almost floats too; the power of two as in exp, in f32. f64: log
//   as a pair of relative error 2^-65 (the exponent is at most 750 < 2^10, so the power loses at
//   most 2^-55), product and reduction as pairs.
// Error: f32 0.8 ulp; f64 0.6 ulp, 0.8 where the result is subnormal.
// Specials: C Annex F, 10.4.4: pow(x, 0) = pow(1, y) = 1 even for NaN, pow(-1, +-inf) = 1,
//   pow(x < 0, fraction) = NaN, pow(-0, odd < 0) = -inf, ...
// Reference: Muller, Elementary Functions (3rd ed.), ch. 11; Dekker 1971 for the pairs; Gal and
//   Bachelis, ACM TOMS 17 (1991), 26-45.
template <class T, int N> inline Vec<T, N> pow(Vec<T, N> x, Vec<T, N> y) {
  if constexpr (sizeof(T) == 4)
    return pow_single<N>(x, y);
  else
    return pow_double(x, y);
}

} // namespace broadloom::math::lanes
