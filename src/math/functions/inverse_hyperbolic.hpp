// asinh, acosh and atanh.
//
// Problem: logarithms of sums that cancel where the result vanishes, and squares that overflow.
// Method: asinh and acosh are log(S + C) with C^2 - S^2 = 1, atanh x is log((1 + x) / (1 - x)) / 2.
// All are k ln2 + 2 atanh(n / d) as in logarithm_of_ratio.hpp, and for k = 0 n / d comes out
// without
// cancellation: (S + C - 1) / (S + C + 1) = S / (C + 1), and x itself for atanh.
// Example: asinh<double, 8>(x), atanh<float, 16>(x).
#pragma once

#include "math/functions/logarithm_of_ratio.hpp"
#include "math/functions/misrounded.hpp"
#include "math/simd.hpp"

namespace broadloom::math::lanes {

// sqrt(square.high + square.low) as a pair. The low part is a correction, for which a reciprocal to
// six bits will do: a guess from the bits and one step of Newton. Zero has the root zero.
template <class D> inline Pair<D> sqrt_pair(Pair<D> square) {
  const D root = sqrt(square.high);
  const D remainder = fma(-root, root, square.high) + square.low;
  const D guess = from_bits<D>(0x7fe0000000000000 - to_bits(root));
  const D half_inverse = guess * fma(root * -0.5, guess, D(1.0));
  return {root, remainder * half_inverse};
}

// log(S + C) for S >= 0, C >= 1; `beyond` marks lanes where it is log(2 x) instead.
template <class D, class Mask> inline D log_of_sum(Pair<D> s, Pair<D> c, Mask beyond, D x) {
  Pair<D> u = fast_two_sum(c.high, s.high);
  u.low = u.low + (s.low + c.low);
  u = {select(beyond, x, u.high), select(beyond, D(0.0), u.low)};
  const Ratio<D> e = ratio_to_power(u);
  Pair<D> divisor = fast_two_sum(c.high, 1.0);
  divisor.low = divisor.low + c.low;
  const auto near = (e.k == 0.0) & !beyond;
  const Pair<D> n{select(near, s.high, e.n.high), select(near, s.low, e.n.low)};
  const Pair<D> d{select(near, divisor.high, e.d.high), select(near, divisor.low, e.d.low)};
  return log_of_ratio<atanh_tail>(e.k + select(beyond, D(1.0), D(0.0)), n, d);
}

// The same for f32 in f64.
template <class D> inline D log_of_sum_short(D s, D c) {
  const D sum = s + c;
  const Significand<D> u = significand_of(sum);
  const D power = from_bits<D>(u.biased);
  const auto near = u.k == 0.0;
  const D n = select(near, s, sum - power);
  const D d = select(near, c + 1.0, sum + power);
  return fma(u.k, D(exponent_ln2_1), atanh_short<atanh_short_tail>(n, d) * 2.0);
}

inline constexpr double square_is_all = 0x1p30; // 1 is lost beside the square

// asinh.
// Method: S = |x|, C = sqrt(x^2 + 1), as a pair for f64. Below 2^-27 the result is x.
// Error: f32 0.5004 ulp; f64 0.6 ulp.
// Specials: asinh(+-0) = +-0, asinh(+-inf) = +-inf, NaN stays NaN.
// Reference: Abramowitz and Stegun 4.6.20; Dekker 1971 for the pairs.
template <class T, int N> inline Vec<T, N> asinh(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const D magnitude = abs(wide);
    const D result = log_of_sum_short(magnitude, sqrt(fma(magnitude, magnitude, D(1.0))));
    return narrow<N>(with_sign_of(select(magnitude < infinity, result, magnitude), wide));
  } else {
    const D magnitude = abs(x);
    const auto beyond = magnitude > square_is_all;
    const D s = select(beyond, D(1.0), magnitude);
    const Pair<D> square = two_product(s, s);
    Pair<D> sum = two_sum(D(1.0), square.high);
    sum.low = sum.low + square.low;
    const D result = log_of_sum(Pair<D>{s, D(0.0)}, sqrt_pair(sum), beyond, magnitude);
    const auto ordinary = (magnitude >= 0x1p-27) & (magnitude < infinity);
    return with_sign_of(select(ordinary, result, magnitude), x);
  }
}

// acosh.
// Method: C = x, S = sqrt(x^2 - 1) = sqrt((x - 1) (x + 1)), whose first factor is exact.
// Error: f32 0.5004 ulp; f64 0.6 ulp.
// Specials: acosh(1) = +0, acosh(x < 1) = NaN, acosh(inf) = inf, NaN stays NaN.
// Reference: Abramowitz and Stegun 4.6.21; Dekker 1971 for the pairs.
template <class T, int N> inline Vec<T, N> acosh(Vec<T, N> x) {
  using D = Vec<double, N>;
  const auto special = [](D at) { return select(at < 1.0, D(not_a_number), at); };
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const D result = log_of_sum_short(sqrt((wide - 1.0) * (wide + 1.0)), wide);
    const auto ordinary = (wide >= 1.0) & (wide < infinity);
    return narrow<N>(select(ordinary, result, special(wide)));
  } else {
    const auto ordinary = (x >= 1.0) & (x < infinity);
    const auto beyond = x > square_is_all;
    const D c = select(beyond, D(1.0), x);
    const D less = c - 1.0;
    const Pair<D> more = fast_two_sum(c, 1.0);
    Pair<D> square = two_product(less, more.high);
    square.low = fma(less, more.low, square.low);
    const D result = log_of_sum(sqrt_pair(square), Pair<D>{c, D(0.0)}, beyond, x);
    return select(ordinary, result, special(x));
  }
}

// atanh.
// Method: for |x|, k is the difference of the bits of 1 + x and 1 - x, rounded to an exponent: the
//   logarithm in base two of their quotient, up to 0.087 off. With n = 1 + x and d = (1 - x) 2^k it
//   is k ln2/2 + atanh((n - d) / (n + d)), where n.high - d.high is exact.
// Error: f32 0.5004 ulp; f64 0.6 ulp.
// Specials: atanh(+-0) = +-0, atanh(+-1) = +-inf, atanh(|x| > 1) = NaN, NaN stays NaN.
// Reference: Abramowitz and Stegun 4.6.22; Dekker 1971 for the pairs.
template <class T, int N> inline Vec<T, N> atanh(Vec<T, N> x) {
  using D = Vec<double, N>;
  constexpr std::uint64_t half = std::uint64_t{1} << 51, one = 0x3ff0000000000000;
  const auto special = [](D at) { return select(at == 1.0, D(infinity), D(not_a_number)); };
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const D magnitude = abs(wide);
    const Bits<D> quotient = to_bits(1.0 + magnitude) - to_bits(1.0 - magnitude) + half;
    const D power = from_bits<D>((quotient & 0x7ff0000000000000) + one);
    const D k = small_to_double<D>(quotient >> 52);
    const D n = fma(magnitude, power + 1.0, 1.0 - power);
    const D d = fma(magnitude, 1.0 - power, power + 1.0);
    const D result = fma(k, D(exponent_ln2_1 / 2), atanh_short<atanh_wide_short_tail>(n, d));
    return narrow<N>(with_sign_of(select(magnitude < 1.0, result, special(magnitude)), wide));
  } else {
    const D magnitude = abs(x);
    const Pair<D> plus = fast_two_sum(D(1.0), magnitude);
    const Pair<D> minus = fast_two_sum(D(1.0), -magnitude);
    const Bits<D> quotient = to_bits(plus.high) - to_bits(minus.high) + half;
    const D power = from_bits<D>((quotient & 0x7ff0000000000000) + one);
    const D k = small_to_double<D>(quotient >> 52);
    const Pair<D> other{minus.high * power, minus.low * power};
    Pair<D> d = two_sum(plus.high, other.high);
    d.low = d.low + (plus.low + other.low);
    const Pair<D> n = fast_two_sum(plus.high - other.high, plus.low - other.low);
    const D result = log_of_ratio<atanh_wide_tail>(k, n, d) * 0.5;
    return with_sign_of(select(magnitude < 1.0, result, special(magnitude)), x);
  }
}

namespace exact {
// asinh: the f64 form, rounded and put right.
inline constexpr Misrounded asinh_misrounded[] = {
    {0x1.bacb4ap+24f, 0x1.1e0696p+4f}, {-0x1.bacb4ap+24f, -0x1.1e0696p+4f},
    {0x1.b121a6p+75f, 0x1.a9a3f2p+5f}, {-0x1.b121a6p+75f, -0x1.a9a3f2p+5f},
    {0x1.6351d8p+94f, 0x1.08b512p+6f}, {-0x1.6351d8p+94f, -0x1.08b512p+6f},
};
template <class T, int N> inline Vec<T, N> asinh(Vec<T, N> x) {
  return put_right<asinh_misrounded>(x, narrow<N>(lanes::asinh<double, N>(widen<N>(x))));
}

// acosh: the f64 form, rounded and put right.
inline constexpr Misrounded acosh_misrounded[] = {
    {0x1.b121a6p+75f, 0x1.a9a3f2p+5f},
    {0x1.6351d8p+94f, 0x1.08b512p+6f},
};
template <class T, int N> inline Vec<T, N> acosh(Vec<T, N> x) {
  return put_right<acosh_misrounded>(x, narrow<N>(lanes::acosh<double, N>(widen<N>(x))));
}

// atanh: the f64 form, rounded; no argument is misrounded.
template <class T, int N> inline Vec<T, N> atanh(Vec<T, N> x) {
  return narrow<N>(lanes::atanh<double, N>(widen<N>(x)));
}
} // namespace exact

} // namespace broadloom::math::lanes
