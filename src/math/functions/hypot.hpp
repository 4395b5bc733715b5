// hypot.
//
// Problem: sqrt(x^2 + y^2) where the squares overflow, vanish or have more digits than a double.
// Method: f32 squares fit into f64. f64 is scaled by a power of two, and the sum of squares is made
// a pair and rounded once, so that the root of it is within one ulp.
// Example: hypot<double, 8>(x, y), hypot<float, 16>(x, y).
#pragma once

#include "math/functions/logarithm.hpp"
#include "math/simd.hpp"

namespace broadloom::math::lanes {

// hypot.
// Method: f32: sqrt(x^2 + y^2) in f64, where both squares are exact. f64: as pairs, of magnitudes
//   held between 2^-500 and 2^500 by a factor of 2^+-600.
// Error: f32 0.5001 ulp; f64 0.86 ulp (half an ulp of the sum, 0.36 of the root, and its rounding),
//   1.0 where the result is subnormal.
// Specials: hypot(+-inf, y) = inf even for NaN, hypot(x, +-0) = |x|, else NaN where either is NaN.
// Reference: Dekker 1971 for the sums.
template <class T, int N> inline Vec<T, N> hypot(Vec<T, N> x, Vec<T, N> y) {
  using D = Vec<double, N>;
  const auto finish = [](D a, D b, D length) {
    const auto endless = (a == infinity) | (b == infinity);
    return select(endless, D(infinity), length);
  };
  if constexpr (sizeof(T) == 4) {
    const D a = widen<N>(x), b = widen<N>(y);
    const D length = sqrt(fma(a, a, b * b));
    return narrow<N>(finish(abs(a), abs(b), length));
  } else {
    const D a = abs(x), b = abs(y);
    const D longer = select(a > b, a, b);
    const D shorter = select(a > b, b, a);
    const D factor =
        select(longer > 0x1p500, D(0x1p-600), select(longer < 0x1p-400, D(0x1p600), D(1.0)));
    const D back =
        select(longer > 0x1p500, D(0x1p600), select(longer < 0x1p-400, D(0x1p-600), D(1.0)));
    const D p = longer * factor, q = shorter * factor;
    const Pair<D> p2 = two_product(p, p);
    const Pair<D> q2 = two_product(q, q);
    const Pair<D> sum = fast_two_sum(p2.high, q2.high);
    const D square = sum.high + (sum.low + (p2.low + q2.low));
    return finish(a, b, sqrt(square) * back);
  }
}

} // namespace broadloom::math::lanes
