// erf, erfc and gelu.
//
// Problem: erfc and the left side of gelu must keep their relative accuracy down to subnormal results,
// where e^(-x^2) multiplies an error of x^2 by up to 745.
// Method: near zero a polynomial; in the tail e^(-x^2) times a smooth function, x^2 as a pair and all
// factors unrounded until the end.
// Example: erf<float, 16>(x), erfc<double, 8>(x).
#pragma once

#include "math/coefficients/error_function.hpp"
#include "math/functions/exponential.hpp"
#include "math/functions/logarithm.hpp"
#include "math/simd.hpp"
#include "math/table.hpp"

namespace broadloom::math::lanes {

// erf.
// Method: f32: x P(x^2) in f64 with one polynomial of degree 20, whose variable is moved to the
//   middle of its range: around zero the terms would cancel.
//   f64: 16 pieces of width 49/128; around the centre c, erf(c) + d erf'(c) is summed exactly and a
//   polynomial of degree 13 without them added last. The centre 0 makes the first piece odd.
//   Beyond the last piece the result is 1.
// Error: f32 0.5001 ulp; f64 0.6 ulp, 0.9 where the result is subnormal.
// Specials: erf(+-inf) = +-1, erf(+-0) = +-0, NaN stays NaN.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 6 (tables of centres); Dekker 1971.
template <class T, int N> inline Vec<T, N> erf(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    constexpr double last = 3.9375; // its square is 15.5 = 2 * 7.75
    const D wide = widen<N>(x);
    const D below = select(wide > last, D(last), wide);
    const D held = select(below < -last, D(-last), below);
    return narrow<N>(held * polynomial<erf_short>(fma(held, held, D(-7.75))));
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

// e^-square G(t) / (1 + slope x) times `factor` for x >= 1/2, t = (x - k) / (x + k): a quotient still
// to be multiplied by a power of two. One division serves t and the quotient.
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

// erfc(x) for x >= 0 as f32 in f64, with `square` the exponent -x^2: e^-x^2 q P(q).
template <class D> inline D erfc_of_short(D x, D square) {
  const ExpReduced<D> e = exp_reduce<1023>(-square);
  const D r = e.r.high;
  const D p = fma(r * r, polynomial<exp_short_tail>(r), r) + 1.0;
  const D q = 1.0 / fma(x, D(0.34375), D(1.0));
  return p * power_of_two<D>(e.biased) * (q * polynomial<erfc_short>(q));
}

// erfc.
// Method: f32: e^(-x^2) q P(q), q = 1 / (1 + 0.34375 |x|), in f64, and 2 minus that on the left.
//   f64: 1 - erf(x) up to 1/2, leading terms exact; beyond, e^(-x^2) G(t) / (1 + 1.5 |x|) with pairs.
// Error: f32 0.5001 ulp; f64 0.9 ulp.
// Specials: erfc(inf) = 0, erfc(-inf) = 2, NaN stays NaN, underflow gives 0.
// Reference: Abramowitz and Stegun 7.1.26 (q); Shepherd and Laframboise, Math. Comp. 36 (1981) (G).
template <class T, int N> inline Vec<T, N> erfc(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const D magnitude = clamp(abs(wide), 0.0, 11.0);
    const D tail = erfc_of_short(magnitude, magnitude * magnitude);
    return narrow<N>(select(wide < 0.0, 2.0 - tail, tail));
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

// gelu: x Phi(x) = x erfc(-x / sqrt(2)) / 2.
// Method: as erfc, of |x| / sqrt(2): the tail is Phi(-|x|), its complement serves the right. f64 has
//   polynomials of its own in x and multiplies x in before the result is scaled.
// Error: f32 0.5001 ulp; f64 0.98 ulp.
// Specials: gelu(-inf) = -0, the limit of ever smaller negative values; gelu(inf) = inf,
//   gelu(+-0) = +-0, NaN stays NaN.
// Reference: as erfc.
template <class T, int N> inline Vec<T, N> gelu(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const D held = clamp(wide, -16.0, infinity), magnitude = clamp(abs(wide), 0.0, 16.0);
    // No more than 1/2 where the polynomial is: halves of subnormals are ties.
    const D tail =
        clamp(0.5 * erfc_of_short(magnitude * root_half, magnitude * magnitude * 0.5), 0.0, 0.5);
    return narrow<N>(held * select(wide < 0.0, tail, 1.0 - tail));
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
