// sigmoid, silu, gelu_tanh, softplus and logaddexp: what is built from e^-|x|.
//
// Problem: written as formulas, 1 / (1 + exp(-x)) overflows, log(1 + exp(x)) too, and
// x (1 + tanh(u)) / 2 cancels to nothing for negative x.
// Method: only e^-|v| <= 1 is ever formed. sigmoid(v) is 1 / (1 + e^-|v|) on the right and
// e^-|v| / (1 + e^-|v|) on the left; 1 + tanh(u) is 2 sigmoid(2u).
// Example: silu<double, 8>(x); logaddexp<float, 16>(x, y).
#pragma once

#include "math/coefficients/basic.hpp"
#include "math/functions/exponential.hpp"
#include "math/functions/logarithm.hpp"
#include "math/simd.hpp"

namespace broadloom::math::lanes {

// e^-|v| = p 2^k, not yet multiplied: it may be subnormal. |v| is held at 760, where it vanishes.
template <class D> struct DecayOf {
  D p;
  Bits<D> biased; // k + 2046
};
template <class D> inline DecayOf<D> decay(Pair<D> v) {
  const D high = clamp(-abs(v.high), -760.0, 0.0);
  ExpReduced<D> e = exp_reduce<2046>(high);
  const D low = flip_sign(v.low, sign_of(-v.high));
  e.r.low = e.r.low + select(high == -abs(v.high), low, D(0.0));
  e.r = fast_two_sum(e.r.high, e.r.low);
  return {exp_of_reduced(e.r), e.biased};
}

// e^-|v| for f32 in f64.
template <class D> inline D decay_short(D v) {
  const ExpReduced<D> e = exp_reduce<1023>(clamp(-abs(v), -200.0, 0.0));
  const D p = fma(e.r.high * e.r.high, polynomial<exp_short_tail>(e.r.high), e.r.high) + 1.0;
  return p * power_of_two<D>(e.biased);
}

// x sigmoid(v) for v of the sign of x. On the left x is multiplied in before the scaling, which
// keeps its digits where e^-|v| is subnormal; `bounded` is x, no less than about -760.
template <class D> inline D times_sigmoid(D x, D bounded, Pair<D> v) {
  const DecayOf<D> e = decay(v);
  const D divisor = 1.0 + scale_in_two_steps(e.p, e.biased);
  const D left = scale_in_two_steps(bounded * e.p / divisor, e.biased);
  return select(v.high < 0.0, left, x / divisor);
}
template <class D> inline D times_sigmoid_short(D x, D bounded, D v) {
  const D e = decay_short(v);
  return select(v < 0.0, bounded * e, x) / (1.0 + e);
}

// log(1 + e) for 0 <= e <= 1: the logarithm of the rounded sum, and what the rounding took.
template <class D> inline D log1p_of_fraction(D e) {
  const D sum = 1.0 + e;
  return log<double, lanes_of<D>>(sum) + (e - (sum - 1.0)) / sum;
}
template <class D> inline D log1p_of_fraction_short(D e) {
  const D sum = 1.0 + e;
  return log_short(sum) + (e - (sum - 1.0)) / sum;
}

// sigmoid: 1 / (1 + e^-x).
// Error: f32 0.5001 ulp; f64 2.5 ulp.
// Specials: sigmoid(-inf) = 0, sigmoid(inf) = 1, NaN stays NaN.
template <class T, int N> inline Vec<T, N> sigmoid(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    return narrow<N>(times_sigmoid_short(D(1.0), D(1.0), widen<N>(x)));
  } else {
    return times_sigmoid(D(1.0), D(1.0), {x, D(0.0)});
  }
}

// silu: x sigmoid(x).
// Error: f32 0.5001 ulp; f64 3 ulp.
// Specials: silu(-inf) = -0, the limit of ever smaller negative values; silu(inf) = inf,
//   silu(+-0) = +-0, NaN stays NaN.
template <class T, int N> inline Vec<T, N> silu(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    return narrow<N>(times_sigmoid_short(wide, clamp(wide, -200.0, infinity), wide));
  } else {
    return times_sigmoid(x, clamp(x, -760.0, infinity), {x, D(0.0)});
  }
}

// gelu_tanh: x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 = x sigmoid(v),
// v = x (c + 0.044715 c x^2) with c = 2 sqrt(2/pi).
// Method: f64 forms v as a pair, since e^v multiplies its relative error by up to 745. Beyond
//   |x| = 22 the result is x or 0, and x is held there so that v stays finite.
// Error: f32 0.5001 ulp; f64 3 ulp.
// Specials: as silu.
template <class T, int N> inline Vec<T, N> gelu_tanh(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const D near = clamp(wide, -22.0, 22.0);
    const D v = near * fma(near * near, D(gelu_cubic_1), D(gelu_linear_1));
    return narrow<N>(times_sigmoid_short(wide, near, v));
  } else {
    const D near = clamp(x, -22.0, 22.0);
    const Pair<D> cubic =
        multiply(two_product(near, near), Pair<D>{D(gelu_cubic_1), D(gelu_cubic_2)});
    Pair<D> factor = two_sum(D(gelu_linear_1), cubic.high);
    factor.low = factor.low + (cubic.low + gelu_linear_2);
    return times_sigmoid(x, near, multiply(factor, Pair<D>{near, D(0.0)}));
  }
}

// softplus: log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
// Error: f32 0.5001 ulp; f64 2 ulp.
// Specials: softplus(-inf) = 0, softplus(inf) = inf, NaN stays NaN.
template <class T, int N> inline Vec<T, N> softplus(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const D rest = log1p_of_fraction_short(decay_short(wide));
    return narrow<N>(select(wide > 0.0, wide, D(0.0)) + rest);
  } else {
    const D rest = log1p_of_fraction(exp<double, N>(-abs(x)));
    return select(x > 0.0, x, D(0.0)) + rest;
  }
}

// logaddexp: log(e^x + e^y) = max(x, y) + log(1 + e^-|x - y|).
// Method: f64 takes the difference as a pair, since e^-|x - y| multiplies its error.
// Error: f32 0.5001 ulp, f64 2 ulp of the greater of |max(x, y)| and the result: near its zeros, as at
//   x = y = -log 2, the sum cancels.
// Specials: logaddexp(-inf, y) = y, logaddexp(inf, y) = inf, NaN where either is NaN.
template <class T, int N> inline Vec<T, N> logaddexp(Vec<T, N> x, Vec<T, N> y) {
  using D = Vec<double, N>;
  // Equal ones may be infinite, without a difference.
  if constexpr (sizeof(T) == 4) {
    const D a = widen<N>(x), b = widen<N>(y);
    const D rest = log1p_of_fraction_short(decay_short(a - b));
    return narrow<N>(select(a > b, a, b) + select(a == b, D(ln2_1), rest));
  } else {
    const DecayOf<D> e = decay(two_sum(x, -y));
    const D rest = log1p_of_fraction(scale_in_two_steps(e.p, e.biased));
    return select(x > y, x, y) + select(x == y, D(ln2_1), rest);
  }
}

} // namespace broadloom::math::lanes
