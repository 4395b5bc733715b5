// sigmoid, silu, gelu_tanh, softplus and logaddexp: what is built from e^-|x|.
//
// Problem: written as formulas, 1 / (1 + exp(-x)) overflows, log(1 + exp(x)) too, and
// x (1 + tanh(u)) / 2 cancels to nothing for negative x.
// Method: only e^-|v| <= 1 is ever formed. sigmoid(v) is 1 / (1 + e^-|v|) on the right and
// e^-|v| / (1 + e^-|v|) on the left; 1 + tanh(u) is 2 sigmoid(2u).
// In f64 it is a pair, and so is the quotient.
// Example: silu<double, 8>(x); logaddexp<float, 16>(x, y).
#pragma once

#include "math/coefficients/basic.hpp"
#include "math/coefficients/single.hpp"
#include "math/functions/exponential.hpp"
#include "math/functions/logarithm.hpp"
#include "math/simd.hpp"

namespace broadloom::math::lanes {

// e^-|v| = p 2^k as a pair, not yet multiplied: it may be subnormal. |v| is held at 760, where it
// vanishes.
template <class D> struct DecayOf {
  Pair<D> p;
  Bits<D> biased; // k + 2046
};
template <class D> inline D held(D exponent) {
  return select(exponent < D(-760.0), D(-760.0), exponent);
}
template <class D> inline DecayOf<D> decay(D v) {
  const ExpReduced<D> e = exp_reduce<2046>(held<D>(-abs(v)));
  return {exp_pair_of_reduced(e.r), e.biased};
}
template <class D> inline DecayOf<D> decay(Pair<D> v) {
  const D exponent = -abs(v.high);
  const D high = held(exponent);
  ExpReduced<D> e = exp_reduce<2046>(high);
  const D low = flip_sign(v.low, sign_of(-v.high));
  e.r.low = e.r.low + select(high == exponent, low, D(0.0));
  e.r = fast_two_sum(e.r.high, e.r.low);
  return {exp_pair_of_reduced(e.r), e.biased};
}
template <class D> inline Pair<D> scaled(const DecayOf<D> &e) {
  return {scale_in_two_steps(e.p.high, e.biased), scale_in_two_steps(e.p.low, e.biased)};
}

// n / d as a pair, relative error about 2^-100.
template <class D> inline Pair<D> divide(Pair<D> n, Pair<D> d) {
  const D inverse = 1.0 / d.high;
  const D quotient = n.high * inverse;
  const D remainder = fma(-quotient, d.high, n.high) + fma(-quotient, d.low, n.low);
  return {quotient, remainder * inverse};
}

// x sigmoid(v) for v of the sign of x, |x| <= 760, given e^-|v|. x is multiplied into the quotient
// as a pair, and before the scaling, which keeps its digits where e^-|v| is subnormal.
template <class D, class Mask>
inline D times_sigmoid(D x, Mask negative, const DecayOf<Same<D>> &e) {
  const Pair<D> rest = scaled(e);
  Pair<D> divisor = fast_two_sum(D(1.0), rest.high);
  divisor.low = divisor.low + rest.low;
  const Pair<D> numerator{select(negative, e.p.high, D(1.0)), select(negative, e.p.low, D(0.0))};
  const Pair<D> sigmoid = divide(numerator, divisor);
  const D product = fma(x, sigmoid.high, x * sigmoid.low);
  return select(negative, scale_in_two_steps(product, e.biased), product);
}

// greater + log(1 + e) for 0 <= e <= 1: log(1 + e) = 2 atanh(e / (2 + e)), or beyond sqrt(2) - 1
// log 2 + 2 atanh((e - 1) / (3 + e)). greater, log 2 and the quotient are summed exactly; the rest
// of the series, a hundredth of the quotient, is added last.
template <class D> inline D plus_log1p(D greater, Pair<D> e) {
  const auto beyond = e.high > 0.4142;
  Pair<D> n = fast_two_sum(select(beyond, D(-1.0), D(0.0)), e.high);
  Pair<D> half_d = fast_two_sum(select(beyond, D(1.5), D(1.0)), e.high * 0.5);
  n.low = n.low + e.low;
  half_d.low = fma(e.low, D(0.5), half_d.low);
  const Pair<D> twice = divide(n, half_d);
  const D s = twice.high * 0.5;
  const D z = s * s;
  const D series = fma(z * s, polynomial<log_tail>(z), twice.low);
  const Pair<D> first = two_sum(greater, select(beyond, D(ln2_1), D(0.0)));
  const Pair<D> second = two_sum(first.high, twice.high);
  const D low = first.low + second.low + select(beyond, D(ln2_2), D(0.0));
  return second.high + (series + low);
}

// log(e^greater + e^lesser) where it is below 2^-40 of greater: sum_near_one.hpp. One function of
// the library, which is not worth being compiled anew for each kernel.
extern "C" [[gnu::cold]] void bl_log_near_one(double greater, double lesser, double *result);

// log(e^greater + e^lesser) where it is near zero, -760 <= lesser <= greater <= 0: log(1 + d) with
// d = (e^greater - 1) + e^lesser in pairs, whose difference keeps about 2^-100 of them. That is
// enough for floats, of which the result is never below 2^-60 of greater.
template <class D>
[[gnu::noinline, gnu::cold]] void patch_cancelled(const D &greater, const D &lesser, D &result) {
  const ExpFine<D> g = exp_fine(clamp(greater, -1.0, 0.0));
  const ExpFine<D> l = exp_fine(clamp(lesser, -760.0, 0.0));
  const D power = scale_in_two_steps(D(1.0), g.biased); // 1 or 1/2
  const Pair<D> fall =
      add(Pair<D>{power - 1.0, D(0.0)}, Pair<D>{g.q.high * power, g.q.low * power});
  const Pair<D> rise = scaled(DecayOf<D>{add(Pair<D>{D(1.0), D(0.0)}, l.q), l.biased});
  const Pair<D> sum = two_sum(fall.high, rise.high);
  result = plus_log1p(D(0.0), two_sum(sum.high, sum.low + (fall.low + rise.low)));
}

// The same for doubles, where `cancelled`; the other lanes come back as they are.
template <class D, class Mask>
[[gnu::noinline, gnu::cold]] void patch_near_zero(const D &greater, const D &lesser,
                                                  const Mask &cancelled, D &result) {
  D patched;
  patch_cancelled<D>(greater, lesser, patched);
  result = select(cancelled, patched, result);
  const D fall = select(cancelled, -greater, D(0.0));
  if (!any<D>(abs(result) * 0x1p40 < fall)) return;
  for (int i = 0; i < lanes_of<D>; ++i) {
    if (!(lane(abs(result), i) * 0x1p40 < lane(fall, i))) continue;
    double exact;
    bl_log_near_one(lane(greater, i), lane(lesser, i), &exact);
    set_lane(result, i, exact);
  }
}

// ---- The same in f32
// ------------------------------------------------------------------------------

// e^v = 2^floor(n) (p.high + p.low) for -120 <= v <= 0.
template <class F> struct DecaySingle {
  Pair<F> p;
  F n;
  Bits<F> biased;
};
template <class F> inline DecaySingle<F> decay_single(Pair<F> v) {
  const ExpSingle<F> e = exp_single(v.high, v.low);
  return {fast_two_sum(e.head, e.rest), e.n, e.biased};
}
// -|v|, held at -115, where e^v vanishes.
template <class F> inline F decline(F v) {
  const F exponent = -abs(v);
  return select(exponent < F(-115.0f), F(-115.0f), exponent);
}

// left e^v / (1 + e^v) where `negative`, else right / (1 + e^v), with left e^v = numerator
// 2^floor(n). Without a division: 1 / (1 + e^v) to 2^-18 by a cubic and a step of Newton's, then
// one correction of the quotient, which takes the low parts in.
template <class F, class Mask>
inline F over_one_plus(const DecaySingle<F> &e, Mask negative, Pair<F> numerator, F right) {
  const Pair<F> divisor = fast_two_sum(F(1.0f), scale(e.p.high, e.n, e.biased));
  const F guess = polynomial<reciprocal_guess>(divisor.high);
  const F inverse = fma(guess, fma(-guess, divisor.high, F(1.0f)), guess);
  const F high = select(negative, numerator.high, right);
  const F low = select(negative, numerator.low, F(0.0f));
  const F quotient = high * inverse;
  const F remainder = fma(-quotient, divisor.high, high) + fma(-quotient, divisor.low, low);
  const F result = fma(remainder, inverse, quotient);
  return scale(result, select(negative, e.n, F(0.0f)),
               select(negative, e.biased, Bits<F>{} + 254u));
}

// x sigmoid(v) for v of the sign of x, given -|v| and -|x|, the latter held where the left side
// vanishes. It is x beyond 20, and at zeros, whose sign the
// correction of the quotient would lose.
template <class F> inline F times_sigmoid_single(F x, F bounded, Pair<F> v) {
  const DecaySingle<F> e = decay_single(v);
  Pair<F> left = two_product(bounded, e.p.high);
  left.low = fma(bounded, e.p.low, left.low);
  const F result = over_one_plus(e, x < F(0.0f), left, x);
  return select((x > F(20.0f)) | (x == F(0.0f)), x, result);
}

// greater + log(1 + e) for e = e^-|v|: where e is beyond 1/2, log(1 + e) is
// log 2 + log(1 + f) with f = (e - 1) / 2, exactly; f is e elsewhere. greater, log 2 and f are
// summed exactly, and the rest of log(1 + f), below 0.09, is added last.
template <class F> inline F plus_log1p(F greater, const DecaySingle<F> &decay) {
  const F e = scale(decay.p.high, decay.n, decay.biased);
  const F e_low = scale(decay.p.low, decay.n, decay.biased);
  const auto beyond = e > F(0.5f);
  const F f = select(beyond, fma(e, F(0.5f), F(-0.5f)), e);
  // d log(1 + f) = df / (1 + f), about 1 - f/2
  const F d_low = e_low * fma(f, F(-0.5f), F(1.0f));
  const F f_low = select(beyond, fma(d_low, F(0.5f), F(single_ln2_2)), d_low);
  const Pair<F> first = two_sum(greater, select(beyond, F(single_ln2_1), F(0.0f)));
  const Pair<F> second = fast_two_sum(first.high, f);
  const F factor = fma(polynomial<single_half_tail>(f), f, F(-0.5f));
  return second.high + fma(f * f, factor, (first.low + second.low) + f_low);
}

// ---- f32 in f64
// -----------------------------------------------------------------------------------

// e^-|v| to 2^-28.
template <class D> inline D decay_brief(D v) {
  const D exponent = -abs(v);
  const ExpReduced<D> e = exp_reduce<1023>(select(exponent < -200.0, D(-200.0), exponent));
  const D p = fma(e.r.high * e.r.high, polynomial<exp_brief_tail>(e.r.high), e.r.high) + 1.0;
  return p * power_of_two<D>(e.biased);
}

// log(1 + e) for 0 <= e <= 1 to 2^-30; with f = (e - 1) / 2 it is log 2 + log(1 + f).
template <class D> inline D log1p_brief_of(D e) {
  const auto beyond = e > 0.5;
  const D f = select(beyond, fma(e, D(0.5), D(-0.5)), e);
  return fma(f, polynomial<log1p_brief>(f), select(beyond, D(ln2_1), D(0.0)));
}

// ---- The functions
// --------------------------------------------------------------------------------

// sigmoid: 1 / (1 + e^-x).
// Error: f32 0.8 ulp; f64 0.6 ulp, 0.8 where the result is subnormal.
// Specials: sigmoid(-inf) = 0, sigmoid(inf) = 1, NaN stays NaN.
template <class T, int N> inline Vec<T, N> sigmoid(Vec<T, N> x) {
  using V = Vec<T, N>;
  if constexpr (sizeof(T) == 4) {
    const DecaySingle<V> e = decay_single<V>({decline(x), V(-0.0f)});
    return over_one_plus(e, x < V(0.0f), e.p, V(1.0f));
  } else {
    return times_sigmoid(V(1.0), x < 0.0, decay(x));
  }
}

// silu: x sigmoid(x).
// Error: f32 0.85 ulp; f64 0.6 ulp, 0.8 where the result is subnormal.
// Specials: silu(-inf) = -0, the limit of ever smaller negative values; silu(inf) = inf,
//   silu(+-0) = +-0, NaN stays NaN.
template <class T, int N> inline Vec<T, N> silu(Vec<T, N> x) {
  using V = Vec<T, N>;
  if constexpr (sizeof(T) == 4) {
    const V exponent = decline(x);
    return times_sigmoid_single(x, exponent, {exponent, V(-0.0f)});
  } else {
    const V near = clamp(x, -760.0, 40.0);
    return select(x > 40.0, x, times_sigmoid(near, x < 0.0, decay(near)));
  }
}

// gelu_tanh: x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 = x sigmoid(v),
// v = x (c + 0.044715 c x^2) with c = 2 sqrt(2/pi).
// Method: v is a pair, since e^v multiplies its relative error by up to 745. Beyond |x| = 22 (f32:
// 11)
//   the result is x or 0, and x is held there so that v stays finite.
// Error: f32 0.85 ulp; f64 0.6 ulp, 0.8 where the result is subnormal.
// Specials: as silu.
template <class T, int N> inline Vec<T, N> gelu_tanh(Vec<T, N> x) {
  using V = Vec<T, N>;
  if constexpr (sizeof(T) == 4) {
    const V magnitude = abs(x);
    const V near = -select(magnitude > V(11.0f), V(11.0f), magnitude);
    const V square = near * near;
    const V cubic = square * single_gelu_cubic_1;
    V low = fma(square, V(single_gelu_cubic_1), -cubic);
    low = fma(fma(near, near, -square), V(single_gelu_cubic_1), low);
    low = fma(square, V(single_gelu_cubic_2), low + single_gelu_linear_2);
    const Pair<V> factor = fast_two_sum(V(single_gelu_linear_1), cubic);
    Pair<V> v = two_product(near, factor.high);
    v.low = fma(near, factor.low + low, v.low);
    return times_sigmoid_single(x, near, v);
  } else {
    const V near = clamp(x, -22.0, 22.0);
    const Pair<V> cubic =
        multiply(two_product(near, near), Pair<V>{V(gelu_cubic_1), V(gelu_cubic_2)});
    Pair<V> factor = two_sum(V(gelu_linear_1), cubic.high);
    factor.low = factor.low + (cubic.low + gelu_linear_2);
    return select(x > 22.0, x,
                  times_sigmoid(near, x < 0.0, decay(multiply(factor, Pair<V>{near, V(0.0)}))));
  }
}

// softplus: log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
// Error: f32 0.98 ulp; f64 0.6 ulp, 0.8 where the result is subnormal.
// Specials: softplus(-inf) = 0, softplus(inf) = inf, NaN stays NaN.
template <class T, int N> inline Vec<T, N> softplus(Vec<T, N> x) {
  using V = Vec<T, N>;
  if constexpr (sizeof(T) == 4) {
    const V right = select(x > V(0.0f), x, V(0.0f));
    return select(x > V(20.0f), x, plus_log1p(right, decay_single<V>({decline(x), V(-0.0f)})));
  } else {
    const Pair<V> e = scaled(decay(x));
    return select(x > 40.0, x, plus_log1p(select(x > 0.0, x, V(0.0)), e));
  }
}

// logaddexp: log(e^x + e^y) = max(x, y) + log(1 + e^-|x - y|).
// Method: f32 in f64. f64 takes the difference as a pair, since e^-|x - y| multiplies its error.
// Where the
//   sum falls below an eighth (f32: a quarter) of max(x, y), as next to the curve of zeros e^x +
//   e^y = 1, it is log(1 + ((e^x - 1) + e^y)) in pairs, and where that of f64 falls below 2^-40 of
//   it, in fixed point of 192 digits.
// Error: f32 0.75 ulp; f64 0.8 ulp.
// Specials: logaddexp(-inf, y) = y, logaddexp(inf, y) = inf, NaN where either is NaN.
// Reference: Dekker 1971 for the pairs.
template <class T, int N> inline Vec<T, N> logaddexp(Vec<T, N> x, Vec<T, N> y) {
  using V = Vec<T, N>;
  if constexpr (sizeof(T) == 4) {
    using D = Vec<double, N>;
    const D a = widen<N>(x), b = widen<N>(y);
    const D greater = select(a > b, a, b);
    D sum = greater + select(a == b, D(ln2_1), log1p_brief_of(decay_brief(a - b)));
    const auto cancelled = abs(sum) < greater * -0.25;
    if (any<D>(cancelled)) [[unlikely]] {
      D patched;
      const D copy = greater, lesser = select(a > b, b, a);
      patch_cancelled<D>(copy, lesser, patched);
      sum = select(cancelled, patched, sum);
    }
    return narrow<N>(sum);
  } else {
    const V greater = select(x > y, x, y);
    V sum = plus_log1p(greater, scaled(decay(two_sum(x, -y))));
    const auto cancelled = abs(sum) < greater * -0.125;
    if (any<V>(cancelled)) [[unlikely]] {
      V patched = sum;
      const V copy = greater, lesser = select(x > y, y, x);
      patch_near_zero<V>(copy, lesser, cancelled, patched);
      sum = patched;
    }
    return select((abs(greater) == infinity) & (x == x), greater, sum);
  }
}

// ---- exact: f32 in f64
// ----------------------------------------------------------------------------

namespace exact {

// silu and gelu_tanh of the smallest x are x/2 and a little more, of either sign, which decides
// ties.
template <class D> inline D half_and_more(D x, Same<D> ordinary) {
  const Bits<D> half = to_bits(x * 0.5);
  const D more = from_bits<D>(select(x < 0.0, half - 1, half + 1));
  return select(abs(x) < 0x1p-60, more, ordinary);
}

// e^-|v| for f32 in f64.
template <class D> inline D decay_short(D v) {
  const ExpReduced<D> e = exp_reduce<1023>(clamp(-abs(v), -200.0, 0.0));
  const D p = fma(e.r.high * e.r.high, polynomial<exp_short_tail>(e.r.high), e.r.high) + 1.0;
  return p * power_of_two<D>(e.biased);
}

template <class D> inline D times_sigmoid_short(D x, D bounded, D v) {
  const D e = decay_short(v);
  return select(v < 0.0, bounded * e, x) / (1.0 + e);
}

template <class D> inline D log1p_of_fraction_short(D e) {
  const D sum = 1.0 + e;
  return log_short(sum) + (e - (sum - 1.0)) / sum;
}

// sigmoid of small x is 1/2 + x/4 - x^3/48, which comes as near to a tie as x^3. What an f64 cannot
// hold goes into its last bit: rounding to odd leaves the next rounding right.
template <class D> inline D near_half(D x, Same<D> ordinary) {
  const D step = fma(x * x * x, D(-1.0 / 48), x * 0.25);
  const Pair<D> sum = fast_two_sum(D(0.5), step);
  const Bits<D> toward_zero = to_bits(sum.high) - select(sum.low < 0.0, Bits<D>{} + 1, Bits<D>{});
  const D odd = from_bits<D>(select(sum.low != 0.0, toward_zero | 1, to_bits(sum.high)));
  return select(abs(x) < 0x1p-10, odd, ordinary);
}

inline constexpr Settled sigmoid_settled[] = {{-0x1.250c02p-10f, 0x1.ffb6bd0000001p-2}};
template <class T, int N> inline Vec<T, N> sigmoid(Vec<T, N> x) {
  using D = Vec<double, N>;
  return settle<17, sigmoid_settled>(x, times_sigmoid_short(D(1.0), D(1.0), widen<N>(x)), [&] {
    return near_half<D>(widen<N>(x), lanes::sigmoid<double, N>(widen<N>(x)));
  });
}

template <class T, int N> inline Vec<T, N> silu(Vec<T, N> x) {
  using D = Vec<double, N>;
  const D wide = widen<N>(x);
  return settle<17, none_settled>(
      x, times_sigmoid_short(wide, clamp(wide, -200.0, infinity), wide),
      [&] { return half_and_more<D>(wide, lanes::silu<double, N>(wide)); });
}

template <class T, int N> inline Vec<T, N> gelu_tanh(Vec<T, N> x) {
  using D = Vec<double, N>;
  const D wide = widen<N>(x);
  const D near = clamp(wide, -22.0, 22.0);
  const D v = near * fma(near * near, D(gelu_cubic_1), D(gelu_linear_1));
  return settle<17, none_settled>(x, times_sigmoid_short(wide, near, v), [&] {
    return half_and_more<D>(wide, lanes::gelu_tanh<double, N>(wide));
  });
}

inline constexpr Settled softplus_settled[] = {{0x1.d483ap-12f, 0x1.6301790000001p-1}};
template <class T, int N> inline Vec<T, N> softplus(Vec<T, N> x) {
  using D = Vec<double, N>;
  const D wide = widen<N>(x);
  const D rest = log1p_of_fraction_short(decay_short(wide));
  return settle<17, softplus_settled>(x, select(wide > 0.0, wide, D(0.0)) + rest,
                                      [&] { return lanes::softplus<double, N>(wide); });
}

template <class T, int N> inline Vec<T, N> logaddexp(Vec<T, N> x, Vec<T, N> y) {
  using D = Vec<double, N>;
  const D a = widen<N>(x), b = widen<N>(y);
  const D rest = log1p_of_fraction_short(decay_short(a - b));
  const D greater = select(a > b, a, b);
  const D sum = greater + select(a == b, D(ln2_1), rest);
  // Where it cancels, the error is not small beside the sum, and a tie in its place asks for the
  // slower form. Elsewhere it is below 2^-37.6 of `rest`, which is three times the sum at most.
  const D tie = D(1 + 0x1p-24);
  return settle<18, none_settled>(x, select(abs(sum) < abs(greater) * 0.5, tie, sum),
                                  [&] { return lanes::logaddexp<double, N>(a, b); });
}

} // namespace exact

} // namespace broadloom::math::lanes
