// The vector forms of our math functions, embedded as bitcode and inlined into native kernels.
//
// Problem: a kernel wants exp on whole vectors without the cost of a call, in the same bits as the
// interpreter.
// Method: this file is compiled by clang to bitcode, once for each ISA level, from the templates of
// src/math/functions.hpp. Each function takes and returns vectors by value and calls nothing
// outside the module.
// Example: bl_exp_f32x16 is `<16 x float> (<16 x float>)`, bl_pow_f64x4 takes two <4 x double>.
#include "math/functions.hpp"

namespace math = broadloom::math;

#define BL_UNARY_FORM(name, T, suffix, N)                                                          \
  extern "C" math::Vec<T, N> bl_##name##_##suffix##x##N(math::Vec<T, N> x) {                       \
    return math::lanes::name<T, N>(x);                                                             \
  }
#define BL_BINARY_FORM(name, T, suffix, N)                                                         \
  extern "C" math::Vec<T, N> bl_##name##_##suffix##x##N(math::Vec<T, N> x, math::Vec<T, N> y) {    \
    return math::lanes::name<T, N>(x, y);                                                          \
  }

#define BL_UNARY(name) BL_UNARY_FORM(name, float, f32, 8) BL_UNARY_FORM(name, double, f64, 4)
#define BL_BINARY(name) BL_BINARY_FORM(name, float, f32, 8) BL_BINARY_FORM(name, double, f64, 4)
#include "math/functions.def"
#undef BL_UNARY
#undef BL_BINARY

#if defined(__AVX512F__)
#define BL_UNARY(name) BL_UNARY_FORM(name, float, f32, 16) BL_UNARY_FORM(name, double, f64, 8)
#define BL_BINARY(name) BL_BINARY_FORM(name, float, f32, 16) BL_BINARY_FORM(name, double, f64, 8)
#include "math/functions.def"
#undef BL_UNARY
#undef BL_BINARY
#endif
