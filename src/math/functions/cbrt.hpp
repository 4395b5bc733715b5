// cbrt.
//
// Problem: the cube root over the whole range, subnormals included, within one ulp and without a
// quotient.
// Method: a third of the bits of x, taken from a constant, is x^(-1/3) to within 4 %; two steps of
// high order on the residual 1 - x y^3 sharpen it, and x y^2 is the root.
// Example: cbrt<double, 8>(x), cbrt<float, 16>(x).
#pragma once

#include "math/functions/hyperbolic.hpp"
#include "math/functions/logarithm.hpp"
#include "math/simd.hpp"

namespace broadloom::math::lanes {

// x^(-1/3) for positive normal x, with a relative error of 2^-46. (1 - e)^(-1/3) is
// 1 + e/3 + 2 e^2/9 + 14 e^3/81 + ...; the upper halves of the bits suffice for the guess.
template <class D> inline D inverse_cube_root(D x) {
  const Bits<D> third = (to_bits(x) >> 32) * 0x55555555;
  D y = from_bits<D>(0x553eeb8500000000 - third);
  const D e = fma(-(x * y), y * y, D(1.0));
  y = fma(y * e, fma(e, fma(e, D(14.0 / 81), D(2.0 / 9)), D(1.0 / 3)), y);
  const D f = fma(-(x * y), y * y, D(1.0));
  return fma(y * f, fma(f, D(2.0 / 9), D(1.0 / 3)), y);
}

// cbrt.
// Method: f32 in f64: x y^2. f64: c = x y^2, then c + (x - c^3) y^2 / 3 with a residual that is
//   exact but for its last rounding. Below 2^-900 x is scaled by 2^54 and its root by 2^-18,
//   lest the residual be subnormal.
// Error: f32 0.5001 ulp; f64 0.5001 ulp.
// Specials: cbrt(+-0) = +-0, cbrt(+-inf) = +-inf, NaN stays NaN.
// Reference: Muller, Elementary Functions (3rd ed.), ch. 5 (Newton and higher iterations).
template <class T, int N> inline Vec<T, N> cbrt(Vec<T, N> x) {
  using D = Vec<double, N>;
  if constexpr (sizeof(T) == 4) {
    const D wide = widen<N>(x);
    const D magnitude = abs(wide);
    const D y = inverse_cube_root(magnitude);
    const D root = magnitude * y * y;
    return narrow<N>(with_sign_of(select(magnitude < infinity, root, magnitude), wide));
  } else {
    const auto tiny = abs(x) < 0x1p-900;
    const D magnitude = abs(select(tiny, x * 0x1p54, x));
    const D y = inverse_cube_root(magnitude);
    const D square = y * y;
    const D c = magnitude * square;
    const Pair<D> c2 = two_product(c, c);
    const D residual = fma(-c2.low, c, fma(-c2.high, c, magnitude));
    const D root = fma(residual * square, D(1.0 / 3), c) * select(tiny, D(0x1p-18), D(1.0));
    return with_sign_of(select(magnitude < infinity, root, magnitude), x);
  }
}

namespace exact {
// cbrt: the f64 form, rounded; no argument is misrounded.
template <class T, int N> inline Vec<T, N> cbrt(Vec<T, N> x) {
  return narrow<N>(lanes::cbrt<double, N>(widen<N>(x)));
}
} // namespace exact

} // namespace broadloom::math::lanes
