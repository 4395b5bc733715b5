// rsqrt.
//
// Problem: 1 / sqrt(x) in the same bits on every machine, which the approximate instructions are not.
// Method: the correctly rounded square root and quotient.
// Example: rsqrt<float, 16>(x).
#pragma once

#include "math/simd.hpp"

namespace broadloom::math::lanes {

// rsqrt.
// Method: f32 in f64; f64 by two rounded operations.
// Error: f32 0.5001 ulp; f64 1.5 ulp.
// Specials: rsqrt(+-0) = +-inf, rsqrt(inf) = 0, rsqrt(x < 0) = NaN, NaN stays NaN.
template <class T, int N> inline Vec<T, N> rsqrt(Vec<T, N> x) {
  if constexpr (sizeof(T) == 4) {
    return narrow<N>(1.0 / sqrt(widen<N>(x)));
  } else {
    return 1.0 / sqrt(x);
  }
}

} // namespace broadloom::math::lanes
