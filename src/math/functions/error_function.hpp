// erf, erfc and gelu.
//
// Problem: erfc and the left side of gelu must keep their relative accuracy down to subnormal
// results, where e^(-x^2) multiplies an error of x^2 by up to 745.
// Method: f64: near zero a polynomial; in the tail e^(-x^2) times a smooth function, x^2 as a pair
// and all factors unrounded until the end. f32: tables of 16 intervals; in the tail the logarithm
// of the smooth function is added to -x^2 before the one power of two is taken out.
// Example: erf<float, 16>(x), erfc<double, 8>(x).
#pragma once

#include "math/coefficients/error_function.hpp"
#include "math/coefficients/error_function_single.hpp"
#include "math/functions/exponential.hpp"
#include "math/functions/logarithm.hpp"
#include "math/lookup.hpp"
#include "math/simd.hpp"
#include "math/table.hpp"

namespace broadloom::math::lanes {

// The interval of a magnitude among 16, eighths of an octave of magnitude + start, in its low four
// bits.
template <class F> inline Bits<F> interval_of(F magnitude, float start) {
  return to_bits(magnitude + start) >> 20;
}

// No more than `limit`; NaN passes.
template <class F> inline F held_at(F magnitude, float limit) {
  return select(magnitude > F(limit), F(limit), magnitude);
}

// erf of f32 from tables: see erf.
template <class F> inline F erf_single(F x) {
  const F magnitude = held_at(abs(x), 3.925f);
  const Bits<F> interval = interval_of(magnitude, erf_single_start);
  const F h = magnitude - lookup<erf_single_center, F>(interval);
  const F slope = polynomial_of_lookups<erf_single_slope>(interval, h);
  const F base = select(h == magnitude, magnitude, lookup<erf_single_value, F>(interval));
  return flip_sign(fma(slope, h, base), sign_of(x));
}

// erf.
// Method: f32: on 16 intervals of |x|, erf(c) + h P(h) with h = |x| - c, where the centre c is a
// float
//   for which erf(c) is almost one too, and x + x P(x) on the first.
//   f64: 16 pieces of width 49/128; around the centre c, erf(c) + d erf'(c) is summed exactly and a
//   polynomial of degree 13 without them added last. The centre 0 makes the first piece odd.
//   Beyond the last piece the result is 1.
// Error: f32 0.8 ulp; f64 0.6 ulp, 0.9 where the result is subnormal.
// Specials: erf(+-inf) = +-1, erf(+-0) = +-0, NaN stays NaN.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 6 (tables of centres); Dekker 1971; Gal
// and
//   Bachelis, ACM TOMS 17 (1991), 26-45 (centres whose values are nearly exact).
template <class T, int N> inline Vec<T, N> erf(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    return erf_single(x);
  } else {
    constexpr double last = 0x1.7bcp2; // 5.9336 < 15.5 pieces
    constexpr double shifter = 0x1.8p52;
    const D magnitude = abs(x);
    const D held = select(magnitude > last, D(last), magnitude);
    const D shifted = fma(held, D(erf_pieces_per_unit), D(shifter));
    const Bits<D> piece = to_bits(shifted);
    const D d = fma(shifted - shifter, D(-erf_piece), held);
    const Pair<D> linear = two_product(d, table_value<erf_slope, D>(piece));
    const Pair<D> head = fast_two_sum(table_value<erf_value_1, D>(piece), linear.high);
    const D rest =
        fma(d, polynomial_of_rows<erf_rest>(piece, d), table_value<erf_value_2, D>(piece));
    return flip_sign(head.high + (head.low + (linear.low + rest)), sign_of(x));
  }
}

// e^-square G(t) / (1 + slope x) times `factor` for x >= 1/2, t = (x - k) / (x + k): a quotient
// still to be multiplied by a power of two. One division serves t and the quotient.
template <class D> struct Scaled {
  D p;
  Bits<D> biased; // the exponent + 2046
};
template <const auto &Tail, class D>
inline Scaled<D> gaussian_tail(D x, Pair<D> square, D factor, double first, double first_low,
                               double k, double slope) {
  ExpReduced<D> e = exp_reduce<2046>(-square.high);
  e.r.low = e.r.low - square.low;
  e.r = fast_two_sum(e.r.high, e.r.low);
  const D half = fma(e.r.high, polynomial<exp_tail>(e.r.high), D(0.5));
  const D exp_rest = fma(e.r.high * e.r.high, half, fma(e.r.low, e.r.high, e.r.low));
  const Pair<D> one = fast_two_sum(D(1.0), e.r.high);
  const Pair<D> power = fast_two_sum(one.high, one.low + exp_rest);

  const D sum = fma(x, D(slope), D(1.0));
  const Pair<D> divisor{sum, fma(x, D(slope), 1.0 - sum)};
  const D shifted = x + k;
  const D inverse_of_both = 1.0 / (divisor.high * shifted);
  // 1 / (x + k), once corrected.
  const D first_guess = divisor.high * inverse_of_both;
  const D inverse_shifted = fma(fma(-shifted, first_guess, D(1.0)), first_guess, first_guess);
  const D t = fma(inverse_shifted, D(-2.0 * k), D(1.0));
  const Pair<D> smooth = fast_two_sum(D(first), fma(t, polynomial<Tail>(t), D(first_low)));

  const Pair<D> product = multiply(multiply(power, smooth), Pair<D>{factor, D(0.0)});
  const D inverse = shifted * inverse_of_both;
  const D quotient = product.high * inverse;
  const D remainder =
      fma(-quotient, divisor.high, product.high) + fma(-quotient, divisor.low, product.low);
  return {fma(remainder, inverse, quotient), e.biased};
}

// 2^floor(n) head (1 + rest) for floats.
template <class F> struct TailSingle {
  F n;
  Bits<F> biased; // floor(n) + 254 in its low nine bits
  F head;
  F rest;
};

// e^(m across + log G(m)) for 0 <= m < 15, across = -m or -m/2: with log G = value + h slope(h) on
// each of 16 intervals there is one exponential and no product with a G that was rounded. The
// exponent serves to find n, in eighths; less n ln2 it is then put together anew, without a
// rounding above 1/4: n ln2_1 and value are exact together, and the square enters unrounded.
template <const auto &Center, const auto &Value, const auto &Slope, class F>
inline TailSingle<F> tail_single(F magnitude, Same<F> across, float start) {
  constexpr float shifter = 0x1.8p20f + 254;
  const Bits<F> interval = interval_of(magnitude, start);
  const F h = magnitude - lookup<Center, F>(interval);
  const F slope = polynomial_of_lookups<Slope>(interval, h);
  const F value = lookup<Value, F>(interval);
  const F exponent = fma(across, magnitude, fma(slope, h, value));
  const F shifted = fma(exponent, F(single_inverse_ln2), F(shifter));
  const F n = shifted - shifter;
  const F sum = fma(across, magnitude, fma(n, F(-tail_ln2_1), value));
  const F r = fma(n, F(-tail_ln2_2), fma(slope, h, sum));
  const Bits<F> index = to_bits(shifted);
  return {n, index >> 3, lookup<tail_powers, F>(index), fma(r * r, polynomial<eighth_tail>(r), r)};
}

// erfc of f32: see there. Beyond 10.2 it vanishes.
template <class F> inline F erfc_single(F x) {
  const F magnitude = held_at(abs(x), 10.2f);
  const TailSingle<F> e = tail_single<erfc_single_center, erfc_single_value, erfc_single_slope>(
      magnitude, -magnitude, erfc_single_start);
  const F tail = scale(fma(e.head, e.rest, e.head), e.n, e.biased);
  return select(x < F(0.0f), 2.0f - tail, tail);
}

// erfc.
// Method: f32: e^(-x^2 + log G(|x|)), and 2 minus that on the left; log G by 16 intervals, and the
// power
//   from eight floats 2^((i + d) / 8) that are almost exact.
//   f64: 1 - erf(x) up to 1/2, leading terms exact; beyond, e^(-x^2) G(t) / (1 + 1.5 |x|) with
//   pairs.
// Error: f32 0.9 ulp; f64 0.9 ulp.
// Specials: erfc(inf) = 0, erfc(-inf) = 2, NaN stays NaN, underflow gives 0.
// Reference: Shepherd and Laframboise, Math. Comp. 36 (1981) (G); Gal and Bachelis, ACM TOMS 17
// (1991),
//   26-45.
template <class T, int N> inline Vec<T, N> erfc(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    return erfc_single(x);
  } else {
    const D magnitude = clamp(abs(x), 0.0, 28.0);
    const Pair<D> square = two_product(magnitude, magnitude);
    const Scaled<D> scaled = gaussian_tail<erfc_tail>(magnitude, square, D(1.0), erfc_tail_first_1,
                                                      erfc_tail_first_2, 4.0, 1.5);
    const D tail = scale_in_two_steps(scaled.p, scaled.biased);
    const Pair<D> linear = two_product(x, D(two_over_root_pi_1));
    const Pair<D> head = fast_two_sum(D(1.0), -linear.high);
    const D rest = fma(x, polynomial<erf_near_zero>(square.high), linear.low);
    const D far = select(x < 0.0, 2.0 - tail, tail);
    return select(magnitude < 0.5, head.high + (head.low - rest), far);
  }
}

// gelu of f32: see there. Phi(x) is a pair: head and head rest on the left, still to be scaled, and
// 1 - Phi(-x) on the right. Beyond -14.6 it vanishes. A product below 1/16 is one of the right, or
// has an n next to 0: scale rounds once in any case.
template <class F> inline F gelu_single(F x) {
  const F magnitude = abs(x);
  const F held_magnitude = held_at(magnitude, 14.6f);
  const TailSingle<F> e = tail_single<gelu_single_center, gelu_single_value, gelu_single_slope>(
      held_magnitude, held_magnitude * -0.5f, gelu_single_start);
  const F scaled_head = scale(e.head, e.n, e.biased);
  const F complement = 1.0f - scaled_head;
  const auto left = x < F(0.0f);
  const F high = select(left, e.head, complement);
  const F low =
      select(left, e.head * e.rest, fma(-scaled_head, e.rest, (1.0f - complement) - scaled_head));
  const F held = select(x < F(-14.6f), F(-14.6f), x);
  const Pair<F> product = two_product(held, high);
  const F value = scale(product.high + fma(held, low, product.low), select(left, e.n, F(0.0f)),
                        select(left, e.biased, Bits<F>{} + 254u));
  // Infinity less infinity was NaN; and products of subnormals have no low part, but are x/2.
  const F ordinary = select(value < magnitude, value, magnitude);
  return select(magnitude < F(0x1p-30f), x * 0.5f, ordinary);
}

// gelu: x Phi(x) = x erfc(-x / sqrt(2)) / 2.
// Method: as erfc, of |x| / sqrt(2): the tail is Phi(-|x|), its complement serves the right. Both
// types
//   have coefficients of their own in x and multiply x in before the result is scaled.
// Error: f32 0.91 ulp; f64 0.98 ulp.
// Specials: gelu(-inf) = -0, the limit of ever smaller negative values; gelu(inf) = inf,
//   gelu(+-0) = +-0, NaN stays NaN.
// Reference: as erfc.
template <class T, int N> inline Vec<T, N> gelu(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    return gelu_single(x);
  } else {
    const D near = clamp(x, -40.0, 40.0), magnitude = abs(near);
    const Pair<D> square = two_product(near, near);
    const Pair<D> half_square{square.high * 0.5, square.low * 0.5};
    const auto left = x < 0.0;
    const Scaled<D> scaled =
        gaussian_tail<gelu_tail>(magnitude, half_square, select(left, near, D(1.0)),
                                 gelu_tail_first_1, gelu_tail_first_2, 5.0, 1.0);
    const D tail = scale_in_two_steps(scaled.p, scaled.biased);
    // Phi(x) as a pair: 1/2 + x density near zero, 1 - Phi(-x) on the right.
    const Pair<D> linear = two_product(near, D(normal_density_1));
    const auto middle = magnitude < 0.5;
    const Pair<D> head =
        fast_two_sum(select(middle, D(0.5), D(1.0)), select(middle, linear.high, -tail));
    const D rest = fma(near, polynomial<normal_near_zero>(square.high), linear.low);
    const D low = head.low + select(middle, rest, D(0.0));
    const D product = near * head.high;
    const D value = product + fma(near, low, fma(near, head.high, -product));
    const D inside = select(left & (magnitude >= 0.5), tail, value);
    // The sums lose the sign of zero.
    return select(x > 40.0, x, flip_sign(abs(inside), sign_of(x)));
  }
}

namespace exact {

// f64 rounds all f32 arguments correctly, which were tried one by one against MPFR, but for one of
// erfc, and for subnormal halves in gelu: there x Phi(x) lies just above the tie x / 2.
template <class T, int N> inline Vec<T, N> erf(Vec<T, N> x) {
  return narrow<N>(lanes::erf<double, N>(widen<N>(x)));
}
template <class T, int N> inline Vec<T, N> erfc(Vec<T, N> x) {
  const Vec<T, N> rounded = narrow<N>(lanes::erfc<double, N>(widen<N>(x)));
  return select(x == Vec<T, N>(-0x1.d93ec4p-17f), Vec<T, N>(0x1.00010ap+0f), rounded);
}
template <class T, int N> inline Vec<T, N> gelu(Vec<T, N> x) {
  using D = Vec<double, N>;
  const D wide = widen<N>(x);
  const D above_half = wide * select(wide < 0.0, D(0.5 - 0x1p-54), D(0.5 + 0x1p-53));
  return narrow<N>(select(abs(wide) < 0x1p-120, above_half, lanes::gelu<double, N>(wide)));
}

} // namespace exact

} // namespace broadloom::math::lanes
