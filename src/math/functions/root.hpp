// rsqrt.
//
// Problem: 1 / sqrt(x) in the same bits on every machine, which the approximate instructions are
// not.
// Method: the correctly rounded square root and quotient, corrected.
// Example: rsqrt<float, 16>(x).
#pragma once

#include "math/simd.hpp"

namespace broadloom::math::lanes {

// rsqrt.
// Method: f32 in f64. f64: y = 1 / sqrt(x) by two rounded operations and one step of Newton's,
//   y + y (1 - x y^2) / 2, with x y as a pair: that product, near sqrt(x), neither overflows nor
//   underflows.
// Error: f32 0.5001 ulp; f64 0.501 ulp.
// Specials: rsqrt(+-0) = +-inf, rsqrt(inf) = 0, rsqrt(x < 0) = NaN, NaN stays NaN.
// Reference: Muller et al., Handbook of Floating-Point Arithmetic (2nd ed.), ch. 4.
template <class T, int N> inline Vec<T, N> rsqrt(Vec<T, N> x) {
  if constexpr (sizeof(T) == 4) {
    return narrow<N>(1.0 / sqrt(widen<N>(x)));
  } else {
    using V = Vec<T, N>;
    const V y = 1.0 / sqrt(x);
    const Pair<V> root = two_product(x, y);
    const V error = fma(-root.low, y, fma(-root.high, y, V(1.0)));
    return select((x > 0.0) & (x < __builtin_huge_val()), fma(y * 0.5, error, y), y);
  }
}

} // namespace broadloom::math::lanes
