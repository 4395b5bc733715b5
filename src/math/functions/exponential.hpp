// exp and tanh.
//
// Problem: e^x over the whole range, subnormal results included, within one ulp, without branches.
// Method: x = k ln2 + r with |r| <= ln2/2, e^x = 2^k e^r. f32 is computed in f64, whose range and
// precision make every special case disappear in the final rounding.
// Example: exp<double, 8>(x) for eight lanes, exp<float, 1>(x) for one.
#pragma once

#include "math/coefficients/basic.hpp"
#include "math/coefficients/single.hpp"
#include "math/lookup.hpp"
#include "math/simd.hpp"
#include "math/ties.hpp"

namespace broadloom::math::lanes {

// x = k ln2 + high + low. `biased` holds k + bias in its low 12 bits.
template <class D> struct ExpReduced {
  D k;
  Bits<D> biased;
  Pair<D> r;
};

// Adding 1.5 * 2^52 rounds to an integer (ties to even) that then sits in the low bits.
// The first product is subtracted exactly: x and k ln2_1 are both multiples of 2^-54 where k != 0,
// and their difference is below one half.
template <int Bias, class D> inline ExpReduced<D> exp_reduce(D x) {
  constexpr double shifter = 0x1.8p52 + Bias;
  const D shifted = fma(x, D(inverse_ln2), D(shifter));
  const D k = shifted - shifter;
  const D exact = fma(k, D(-ln2_1), x);
  const D high = fma(k, D(-ln2_2), exact);
  return {k, to_bits(shifted), {high, fma(k, D(-ln2_2), exact - high)}};
}

// 2^k from k + 1023 in the low bits; the bits above are shifted out.
template <class D> inline D power_of_two(Same<Bits<D>> biased) {
  return from_bits<D>(biased << 52);
}

// Limits for f32: beyond them the f64 result is an overflow or zero in f32 anyway. Written so that
// NaN passes.
template <class D> inline D clamp(D x, double low, double high) {
  const D below = select(x > D(high), D(high), x);
  return select(below < D(low), D(low), below);
}

// e^(high + low) for |high| <= ln2/2 and |low| <= ulp(high): 1 + high exactly, then the small rest.
// Rest: high^2 (1/2 + high E(high)) + low (1 + high). Error before the last rounding < 0.12 ulp.
template <class D> inline D exp_of_reduced(Pair<D> r) {
  const D half = fma(r.high, polynomial<exp_tail>(r.high), D(0.5));
  const D rest = fma(r.high * r.high, half, fma(r.low, r.high, r.low));
  const Pair<D> head = fast_two_sum(D(1.0), r.high);
  return head.high + (head.low + rest);
}

// The same as a pair, with high^2/2 exactly too: relative error about 2^-58.
template <class D> inline Pair<D> exp_pair_of_reduced(Pair<D> r) {
  const Pair<D> square = two_product(r.high, r.high);
  const D cubic = square.high * r.high * polynomial<exp_tail>(r.high);
  const Pair<D> first = fast_two_sum(D(1.0), r.high);
  const Pair<D> second = fast_two_sum(first.high, square.high * 0.5);
  const D low = fma(square.low, D(0.5), fma(r.low, r.high, r.low));
  return fast_two_sum(second.high, cubic + (first.low + second.low + low));
}

// p * 2^k with `biased` = k + 2046 in its low 12 bits, in two steps of which only the second
// rounds: k may lie beyond the exponents of f64 and the result may be subnormal.
template <class D> inline D scale_in_two_steps(D p, Same<Bits<D>> biased) {
  const Bits<D> total = biased & 0xfff;
  const Bits<D> first = total >> 1;
  return p * power_of_two<D>(first) * power_of_two<D>(total - first);
}

// e^x = 2^k (1 + q) for -760 <= x <= 0, q a pair of relative error about 2^-100: Taylor's series,
// in pairs up to its eleventh term.
template <class D> struct ExpFine {
  Pair<D> q;
  Bits<D> biased; // k + 2046
};
template <class D> inline ExpFine<D> exp_fine(D x) {
  const ExpReduced<D> e = exp_reduce<2046>(x);
  const Pair<D> second = two_product(e.k, D(-ln2_2));
  Pair<D> r = two_sum(fma(e.k, D(-ln2_1), x), second.high);
  r.low = fma(e.k, D(-ln2_3), r.low + second.low);
  Pair<D> sum{polynomial<exp_pair_tail>(r.high), D(0.0)};
  for (int n = int{std::size(exp_pair_head_1)} - 1; n >= 0; --n)
    sum = add(Pair<D>{D(exp_pair_head_1[n]), D(exp_pair_head_2[n])}, multiply(r, sum));
  return {multiply(r, sum), e.biased};
}

// ---- exp in f32
// -----------------------------------------------------------------------------------

// e^x = 2^floor(n) (head + rest) for floats: n is a multiple of 1/8, head + rest = 2^fraction(n)
// e^r.
template <class F> struct ExpSingle {
  F n;
  Bits<F> biased; // floor(n) + 254 in its low nine bits
  F head;
  F rest;
};

// For |x| <= 120 and a rest `low` of x. Adding 1.5 * 2^20 rounds to a multiple of 1/8, whose
// eighths are then the last three bits. |r| <= ln2/16; the first product is subtracted exactly.
template <class F> inline ExpSingle<F> exp_single(F x, Same<F> low) {
  constexpr float shifter = 0x1.8p20f + 254;
  const F shifted = fma(x, F(single_inverse_ln2), F(shifter));
  const F n = shifted - shifter;
  const F r = fma(n, F(-single_ln2_2), fma(n, F(-single_ln2_1), x)) + low;
  const F p = fma(r * r, polynomial<eighth_tail>(r), r);
  const Bits<F> index = to_bits(shifted);
  const F head = lookup<eighth_powers, F>(index);
  return {n, index >> 3, head, fma(head, p, lookup<eighth_powers_rest, F>(index))};
}

// exp.
// Method: f32: x = (n + j/8) ln2 + r, 2^(j/8) (1 + r + r^2 q(r)) with 2^(j/8) as a pair from a
// table
//   of 8 and three coefficients.
//   f64: 1 + r + r^2/2 + r^3 q(r), |r| <= ln2/2, summed with compensation (exp_of_reduced) and
//   scaled in two steps.
// Error: f32 0.6 ulp, 0.77 where the result is subnormal; f64 0.6 ulp, 0.8 where the result is
// subnormal.
// Specials: exp(-inf) = 0, exp(inf) = inf, NaN stays NaN, overflow gives inf.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 11 (Cody and Waite's reduction); Tang,
//   ACM TOMS 15 (1989), 144-157 (the table).
template <class T, int N> inline Vec<T, N> exp(Vec<T, N> x) {
  using V = Vec<T, N>;
  if constexpr (sizeof(T) == 4) {
    const ExpSingle<V> e = exp_single(clamp(x, -105.0, 90.0), V(-0.0f));
    return scale(e.head + e.rest, e.n, e.biased);
  } else {
    const ExpReduced<V> e = exp_reduce<2046>(clamp(x, -760.0, 720.0));
    return scale_in_two_steps(exp_of_reduced(e.r), e.biased);
  }
}

namespace exact {
// exp.
// Method: 1 + r + r^2 q(r) in f64.
template <class T, int N> inline Vec<T, N> exp(Vec<T, N> x) {
  using D = Vec<double, N>;
  const D wide = widen<N>(x);
  const ExpReduced<D> e = exp_reduce<1023>(clamp(wide, -200.0, 200.0));
  const D p = fma(e.r.high * e.r.high, polynomial<exp_short_tail>(e.r.high), e.r.high) + 1.0;
  return settle<17, none_settled>(x, p * power_of_two<D>(e.biased),
                                  [&] { return lanes::exp<double, N>(wide); });
}
} // namespace exact

// tanh of f32 from tables: see tanh.
template <class F> inline F tanh_single(F x) {
  const F magnitude = abs(x);
  const F y = select(magnitude > F(9.2f), F(9.2f), magnitude);
  const Bits<F> interval = to_bits(y + 0.625f) >> 21;
  const F h = y - lookup<tanh_center, F>(interval);
  F p = lookup<tanh_tail_5, F>(interval);
  p = fma(p, h, lookup<tanh_tail_4, F>(interval));
  p = fma(p, h, lookup<tanh_tail_3, F>(interval));
  p = fma(p, h, lookup<tanh_tail_2, F>(interval));
  p = fma(p, h, lookup<tanh_tail_1, F>(interval));
  p = fma(p, h, lookup<tanh_tail_0, F>(interval));
  const F base = select(h == y, y, lookup<tanh_base, F>(interval));
  return flip_sign(fma(p, h, base), sign_of(x));
}

// tanh.
// Method: f32: on 16 intervals of |x|, base + h P(h) with h = |x| - c, where the centre c is a
// float
//   for which tanh c is almost one too, and x + x P(x) on the first.
//   f64: tanh |x| = E / (E + 2) with E = e^(2|x|) - 1 = (2^k - 1) + 2^k (e^r - 1). k >= 0, so the
//   first term is exact (for k = 0 it vanishes and small arguments keep their relative accuracy).
//   E and E + 2 are pairs and the quotient is corrected once.
//   |x| is clamped where the result is 1. The sign is put back at the end, which also keeps -0.
// Error: f32 0.8 ulp; f64 0.6 ulp.
// Specials: tanh(+-inf) = +-1, tanh(+-0) = +-0, NaN stays NaN.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 11; Gal and Bachelis, ACM TOMS 17 (1991),
//   26-45 (centres whose values are nearly exact); Dekker 1971 for the pairs.
template <class T, int N> inline Vec<T, N> tanh(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    return tanh_single(x);
  } else {
    const D magnitude = abs(x);
    const D doubled = select(magnitude > 22.0, D(22.0), magnitude) * 2.0;
    const ExpReduced<D> e = exp_reduce<1023>(doubled);
    const D r = e.r.high;
    // e^r - 1 = r + r^2/2 + (r^3 E(r) + low (1 + r)), the first two exactly.
    const Pair<D> square = two_product(r, r);
    const D cubic = square.high * r * polynomial<exp_tail>(r);
    const Pair<D> head = fast_two_sum(r, square.high * 0.5);
    const D rest = head.low + (cubic + fma(square.low, D(0.5), fma(e.r.low, r, e.r.low)));
    const D scale = power_of_two<D>(e.biased);
    const Pair<D> sum = fast_two_sum(scale - 1.0, scale * head.high);
    const Pair<D> expm1 = fast_two_sum(sum.high, fma(scale, rest, sum.low));
    const Pair<D> divisor = two_sum(expm1.high, D(2.0));
    const D inverse = 1.0 / divisor.high;
    const D quotient = expm1.high * inverse;
    const D remainder = fma(-quotient, divisor.high, expm1.high) +
                        fma(-quotient, divisor.low + expm1.low, expm1.low);
    return flip_sign(fma(remainder, inverse, quotient), sign_of(x));
  }
}

namespace exact {
// tanh.
// Method: E / (E + 2) in f64.
template <class T, int N> inline Vec<T, N> tanh(Vec<T, N> x) {
  using D = Vec<double, N>;
  const D wide = widen<N>(x);
  const D magnitude = abs(wide);
  const D doubled = select(magnitude > 16.0, D(16.0), magnitude) * 2.0;
  const ExpReduced<D> e = exp_reduce<1023>(doubled);
  const D p = fma(e.r.high * e.r.high, polynomial<exp_short_tail>(e.r.high), e.r.high);
  const D scale = power_of_two<D>(e.biased);
  const D expm1 = fma(scale, p, scale - 1.0);
  return settle<18, none_settled>(x, flip_sign(expm1 / (expm1 + 2.0), sign_of(wide)),
                                  [&] { return lanes::tanh<double, N>(wide); });
}
} // namespace exact

} // namespace broadloom::math::lanes
