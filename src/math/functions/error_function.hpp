// erf, erfc and gelu.
#pragma once

#include "math/coefficients/error_function.hpp"
#include "math/simd.hpp"
#include "math/table.hpp"

namespace broadloom::math::lanes {

// erf.
// Method: f32: x P(x^2) in f64 with one polynomial of degree 20, whose variable is moved to the
//   middle of its range: around zero the terms would cancel.
//   f64: 16 pieces of width 49/128; around the centre c, erf(c) + d erf'(c) is summed exactly and a
//   polynomial of degree 13 without them added last. The centre 0 makes the first piece odd.
//   Beyond the last piece the result is 1.
// Error: f32 0.5001 ulp; f64 0.6 ulp.
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
    const D rest = fma(d, polynomial_of_rows<erf_rest>(piece, d), table_value<erf_value_2, D>(piece));
    return flip_sign(head.high + (head.low + (linear.low + rest)), sign_of(x));
  }
}

namespace exact {

// f64 within 0.6 ulp leaves no f32 argument misrounded: all were tried against MPFR.
template <class T, int N> inline Vec<T, N> erf(Vec<T, N> x) {
  return narrow<N>(lanes::erf<double, N>(widen<N>(x)));
}

} // namespace exact

} // namespace broadloom::math::lanes
