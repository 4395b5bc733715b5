// lgamma and digamma.
//
// Problem: both have poles at 0, -1, -2, .. and zeros between them, lgamma two more at 1 and 2 and
// digamma one at 1.46; next to a zero the sum of a few large terms is small.
// Method: one plan for both. Left of 3/4 the argument is shifted by one or reflected, and the pole
// is an exact term of its own. What is left is right of 3/4: 16 Taylor polynomials up to 8.75,
// Stirling's series beyond. All terms are pairs, and rounded together.
// Example: lgamma<float, 16>(x), digamma<double, 8>(x).
#pragma once

#include "math/coefficients/gamma.hpp"
#include "math/functions/logarithm.hpp"
#include "math/functions/misrounded.hpp"
#include "math/simd.hpp"
#include "math/table.hpp"

namespace broadloom::math::lanes {

// The sum of two pairs of any order of magnitude.
template <class D> inline Pair<D> add_any(Pair<D> a, Pair<D> b) {
  const Pair<D> sum = two_sum(a.high, b.high);
  return fast_two_sum(sum.high, sum.low + (a.low + b.low));
}
template <class D> inline Pair<D> negative(Pair<D> a) { return {-a.high, -a.low}; }

// 1 / x to twice the digits.
template <class D> inline Pair<D> reciprocal(D x) {
  const D inverse = 1.0 / x;
  return {inverse, fma(-inverse, x, D(1.0)) * inverse};
}

// Where x is looked for: f(x) is f(v), f(1 + v) with a term for the pole of x at 0, or f(1 + v)
// reflected. v = -x where x is reflected and x elsewhere.
template <class D> struct GammaArgument {
  D v;
  D shift; // 0 or 1
  D sum;   // v + shift, rounded
};
template <class D> inline GammaArgument<D> gamma_argument(D x) {
  const D v = select(x < -0.25, -x, x);
  const D shift = select(x < 0.75, D(1.0), D(0.0));
  return {v, shift, v + shift};
}

// The 16 pieces of half a unit have their centres at 1, 1.5, .. 8.5 (digamma moves one to its
// root). Added to 1.5 * 2^51, whose last digit is worth 1/2, the sum is rounded to a centre and its
// last bits count from zero on.
template <class D> struct GammaPiece {
  D centre;
  Bits<D> number;
};
template <class D> inline GammaPiece<D> gamma_piece(D sum) {
  constexpr double shifter = 0x1.8p51;
  const D shifted = sum + shifter;
  return {shifted - shifter, to_bits(shifted) - 2};
}

template <class D, class Mask> inline Pair<D> select_pair(Mask condition, Pair<D> a, Pair<D> b) {
  return {select(condition, a.high, b.high), select(condition, a.low, b.low)};
}

// value + d (slope + d (bend + d Rest(d))) of a piece.
template <const auto &Head, const auto &Rest, class D>
inline Pair<D> around_centre(Same<Bits<D>> n, D d) {
  const D rest = d * polynomial_of_rows<Rest>(n, d);
  const Pair<D> sum = fast_two_sum(table_value<Head[4], D>(n), rest);
  const Pair<D> bend{sum.high, sum.low + table_value<Head[5], D>(n)};
  const Pair<D> factor{d, D(0.0)};
  const Pair<D> slope = add_any(Pair<D>{table_value<Head[2], D>(n), table_value<Head[3], D>(n)},
                                multiply(factor, bend));
  return add_any(Pair<D>{table_value<Head[0], D>(n), table_value<Head[1], D>(n)},
                 multiply(factor, slope));
}

// First + z Rest(z) for a small second term.
template <const auto &Rest, class D>
inline Pair<D> reflection_series(D z, double first_1, double first_2) {
  const Pair<D> rest = two_product(z, polynomial<Rest>(z));
  const Pair<D> sum = fast_two_sum(D(first_1), rest.high);
  return {sum.high, sum.low + (rest.low + first_2)};
}

// ---- lgamma
// ---------------------------------------------------------------------------------------

// lgamma(v + shift) from its piece. d is exact.
template <class D> inline Pair<D> lgamma_near(GammaArgument<D> a) {
  const GammaPiece<D> piece = gamma_piece(a.sum);
  return around_centre<lgamma_head, lgamma_rest>(piece.number, a.v - (piece.centre - a.shift));
}

// lgamma(v + shift) = (v - 1/2 + shift) (log v - 1) + log(2 pi) / 2 - 1/2 + shift + Tail(1/v^2) /
// v.
template <class D> inline Pair<D> lgamma_far(GammaArgument<D> a) {
  const Pair<D> log_v = log_pair(a.v);
  Pair<D> slope = fast_two_sum(log_v.high, D(-1.0));
  slope.low = slope.low + log_v.low;
  const D offset = a.shift - 0.5;
  const Pair<D> product = multiply(two_sum(a.v, offset), slope);
  const D inverse = 1.0 / a.v;
  const D tail = inverse * polynomial<lgamma_stirling>(inverse * inverse);
  const Pair<D> constant = fast_two_sum(D(stirling_constant_1), offset);
  const Pair<D> rest = fast_two_sum(constant.high, tail);
  return add_any(product, {rest.high, rest.low + (constant.low + stirling_constant_2)});
}

// lgamma: log |Gamma(x)|.
// Method: right of 3/4 as above. Down to -1/4 lgamma(1 + x) - log|x|; further left
//   -log|sin(pi f) / pi| - lgamma(1 - x), f = x - rint(x), where log|sin(pi f) / (pi f)| is a power
//   series in f^2. f32 in f64. What no lane needs is left out.
// Error: f32 0.5001 ulp; f64 0.55 ulp. Left of zero, where the zeros are no doubles, an ulp is that
// of
//   1 at least.
// Specials: lgamma(1) = lgamma(2) = +0; lgamma(+-0), lgamma(-1), lgamma(-2), .. and lgamma(+-inf)
//   are inf, as is what overflows; NaN stays NaN.
// Reference: Abramowitz and Stegun 6.1.17 (reflection), 6.1.41 (Stirling); Dekker 1971 for the
// pairs.
template <class T, int N> inline Vec<T, N> lgamma(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    return narrow<N>(lgamma<double, N>(widen<N>(x)));
  } else {
    const GammaArgument<D> a = gamma_argument(x);
    const auto near = a.sum < 8.75;
    const auto pole = x < 0.75, reflected = x < -0.25;
    Pair<D> sum{};
    if (any<D>(near)) sum = lgamma_near(a);
    if (any<D>(!near)) sum = select_pair(near, sum, lgamma_far(a));
    if (any<D>(pole)) {
      const D f = select(reflected, a.v - rint(a.v), x);
      const Pair<D> z = two_product(f, f);
      const Pair<D> series =
          reflection_series<lgamma_reflected>(z.high, lgamma_reflected_1, lgamma_reflected_2);
      const Pair<D> left = add_any(multiply(z, series), negative(sum));
      const Pair<D> whole = add_any(select_pair(reflected, left, sum), negative(log_pair(abs(f))));
      sum = select_pair(pole, whole, sum);
      sum.high = select(pole & (f == 0.0), D(infinity), sum.high);
    }
    return select((x > lgamma_last) | (abs(x) == infinity), D(infinity), sum.high);
  }
}

// ---- digamma
// --------------------------------------------------------------------------------------

// digamma(v + shift) from its piece. d is exact.
template <class D> inline Pair<D> digamma_near(GammaArgument<D> a) {
  const Bits<D> n = gamma_piece(a.sum).number;
  const D d = a.v - (table_value<digamma_centre, D>(n) - a.shift);
  return around_centre<digamma_head, digamma_rest>(n, d);
}

// digamma(v + shift) = log v + (shift - 1/2) / v - Tail(1/v^2) / v^2.
template <class D> inline Pair<D> digamma_far(GammaArgument<D> a) {
  const Pair<D> log_v = log_pair(a.v);
  const D inverse = 1.0 / a.v;
  const D square = inverse * inverse;
  const D rest = fma(-square, polynomial<digamma_stirling>(square), (a.shift - 0.5) * inverse);
  return fast_two_sum(log_v.high, log_v.low + rest);
}

// digamma: the derivative of lgamma.
// Method: right of 3/4 as above, the second piece around the root. Down to -1/4 digamma(1 + x) -
// 1/x;
//   further left digamma(1 - x) + pi cot(pi f), f = -x - rint(-x), where pi cot(pi f) is 1/f less a
//   power series. f32 in f64.
// Error: f32 0.5001 ulp; f64 0.6 ulp, and 0.8 left of zero, where an ulp is that of 1 at least: the
//   zeros there are no doubles.
// Specials: digamma(+-0) = -+inf, digamma(-1), digamma(-2), .. = NaN, digamma(-inf) = NaN,
//   digamma(inf) = inf, NaN stays NaN.
// Reference: Abramowitz and Stegun 6.3.7 (reflection), 6.3.18 (Stirling); Dekker 1971 for the
// pairs.
template <class T, int N> inline Vec<T, N> digamma(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    return narrow<N>(digamma<double, N>(widen<N>(x)));
  } else {
    const GammaArgument<D> a = gamma_argument(x);
    const auto near = a.sum < 8.75;
    const auto pole = x < 0.75, reflected = x < -0.25;
    Pair<D> sum{};
    if (any<D>(near)) sum = digamma_near(a);
    if (any<D>(!near)) sum = select_pair(near, sum, digamma_far(a));
    D result = sum.high;
    if (any<D>(pole)) {
      const D f = select(reflected, a.v - rint(a.v), -x);
      const Pair<D> series =
          reflection_series<digamma_reflected>(f * f, digamma_reflected_1, digamma_reflected_2);
      const Pair<D> left = add_any(sum, negative(multiply(Pair<D>{f, D(0.0)}, series)));
      const Pair<D> inverse = reciprocal(f);
      const D whole = add_any(select_pair(reflected, left, sum), inverse).high;
      // The reciprocal may overflow.
      const D beside = select(abs(f) < 0x1p-60, inverse.high, whole);
      result = select(pole, select(reflected & (f == 0.0), D(not_a_number), beside), result);
    }
    return select(x == infinity, x, result);
  }
}

// ---- exact: f32 from f64
// --------------------------------------------------------------------------

namespace exact {

inline constexpr Misrounded lgamma_misrounded[] = {
    {0x1.f8a754p-9f, 0x1.63acc2p+2f},
    {-0x1.ade594p-30f, 0x1.446ab2p+4f},
};
template <class T, int N> inline Vec<T, N> lgamma(Vec<T, N> x) {
  return put_right<lgamma_misrounded>(x, lanes::lgamma<float, N>(x));
}

inline constexpr Misrounded digamma_misrounded[] = {
    {0x1.956d04p-2f, -0x1.4bb01ap+1f},   {0x1.b121a6p+76f, 0x1.a9a3f2p+5f},
    {0x1.6351d8p+95f, 0x1.08b512p+6f},   {-0x1.bd0d52p-48f, 0x1.268266p+47f},
    {-0x1.c0a8eap-48f, 0x1.242422p+47f}, {-0x1.4c1286p+12f, 0x1.cc835ep+3f},
};
template <class T, int N> inline Vec<T, N> digamma(Vec<T, N> x) {
  return put_right<digamma_misrounded>(x, lanes::digamma<float, N>(x));
}

} // namespace exact

} // namespace broadloom::math::lanes
