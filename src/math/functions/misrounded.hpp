// f32 from f64 with every result correctly rounded.
//
// Problem: an f64 form within one ulp, rounded to f32, is wrong where the exact result lies nearer
// to the middle of two floats than that error: for a few arguments of the 2^32, if any.
// Method: those arguments and their results are listed. They were found by trying every argument
// whose f64 result is within 2^-50 of such a middle against MPFR, and hold for the bits of the f64
// form: whoever changes it must find them again.
// Example: put_right<exp2_misrounded>(x, narrow<N>(exp2<double, N>(widen<N>(x)))).
#pragma once

#include "math/simd.hpp"

namespace broadloom::math::lanes {

struct Misrounded {
  float at;
  float result;
};

template <const auto &List, class F> inline F put_right(F x, F rounded) {
  for (const Misrounded &m : List) rounded = select(x == m.at, F(m.result), rounded);
  return rounded;
}

} // namespace broadloom::math::lanes
