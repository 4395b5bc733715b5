// hypot.
//
// Problem: sqrt(x^2 + y^2) where the squares overflow, vanish or have more digits than there are.
// Method: scaled by a power of two; the sum of squares is a pair that is rounded once, so that its
// root is within one ulp.
// Example: hypot<double, 8>(x, y), hypot<float, 16>(x, y).
#pragma once

#include "math/functions/logarithm.hpp"
#include "math/simd.hpp"

namespace broadloom::math::lanes {

// Beyond `large` a square may overflow, below `small` lose digits; the factors are exact.
template <class T> struct HypotRange;
template <> struct HypotRange<float> {
  static constexpr float large = 0x1p60f, small = 0x1p-40f, shrink = 0x1p-70f, grow = 0x1p90f;
};
template <> struct HypotRange<double> {
  static constexpr double large = 0x1p500, small = 0x1p-400, shrink = 0x1p-600, grow = 0x1p600;
};

// hypot.
// Method: sqrt of the rounded x^2 + y^2, with the squares as pairs.
// Error: 0.86 ulp (half an ulp of the sum is 0.36 of the root), 0.95 where the result is subnormal.
// Specials: hypot(+-inf, y) = inf even for NaN, hypot(x, +-0) = |x|, else NaN where either is NaN.
// Reference: Dekker 1971 for the sums.
template <class T, int N> inline Vec<T, N> hypot(Vec<T, N> x, Vec<T, N> y) {
  using V = Vec<T, N>;
  using Range = HypotRange<T>;
  const V a = abs(x), b = abs(y);
  const V longer = select(a > b, a, b);
  const V shorter = select(a > b, b, a);
  const auto large = longer > V(Range::large), small = longer < V(Range::small);
  const V factor = select(large, V(Range::shrink), select(small, V(Range::grow), V(T(1))));
  const V back = select(large, V(1 / Range::shrink), select(small, V(1 / Range::grow), V(T(1))));
  const V p = longer * factor, q = shorter * factor;
  const Pair<V> p2 = two_product(p, p);
  const Pair<V> q2 = two_product(q, q);
  const Pair<V> sum = fast_two_sum(p2.high, q2.high);
  const V length = sqrt(sum.high + (sum.low + (p2.low + q2.low))) * back;
  const auto endless = (a == V(T(infinity))) | (b == V(T(infinity)));
  return select(endless, V(T(infinity)), length);
}

namespace exact {
// hypot.
// Method: in f64 the squares are exact and their sum is a pair. Its root is rounded to odd: of the
// two
//   doubles around it the one with an odd last bit, unless it is a double, which the remainder
//   tells. Narrowing that rounds correctly, since it says on which side of a middle of floats the
//   root is.
// Reference: Boldo and Melquiond, IEEE Trans. Computers 57 (2008), 462-471.
template <class T, int N> inline Vec<T, N> hypot(Vec<T, N> x, Vec<T, N> y) {
  using D = Vec<double, N>;
  const D a = abs(widen<N>(x)), b = abs(widen<N>(y));
  const Pair<D> square = two_sum(a * a, b * b);
  const D root = sqrt(square.high);
  const D remainder = fma(-root, root, square.high) + square.low;
  const Bits<D> bits = to_bits(root);
  const Bits<D> next = select(remainder > 0.0, bits + 1, bits - 1);
  const auto between = (remainder != 0.0) & ((bits & 1) == 0);
  const D length = select(between, from_bits<D>(next), root);
  const auto endless = (a == infinity) | (b == infinity);
  return narrow<N>(select(endless, D(infinity), length));
}
} // namespace exact

} // namespace broadloom::math::lanes
