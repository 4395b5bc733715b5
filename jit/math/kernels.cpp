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

// `form` is the template: name, exact::name or fast::name.
#define BL_UNARY_FORM(symbol, form, T, N)                                                          \
  extern "C" math::Vec<T, N> bl_##symbol##x##N(math::Vec<T, N> x) {                                \
    return math::lanes::form<T, N>(x);                                                             \
  }
#define BL_BINARY_FORM(symbol, form, T, N)                                                         \
  extern "C" math::Vec<T, N> bl_##symbol##x##N(math::Vec<T, N> x, math::Vec<T, N> y) {             \
    return math::lanes::form<T, N>(x, y);                                                          \
  }

// BROADLOOM_ONE_LANE: for threads of a GPU, which have a value each. All that they call is in the
// module.
#if defined(BROADLOOM_ONE_LANE)
#include "math/functions/fmod.hpp"
#include "math/functions/huge_angle.hpp"
#include "math/functions/sum_near_one.hpp"

extern "C" float bl_libm_fmod_f32(float x, float y) { return math::fmod_by_shifts(x, y); }
extern "C" double bl_libm_fmod_f64(double x, double y) { return math::fmod_by_shifts(x, y); }
#endif

// The forms whose vectors fill NEON's or AVX2's registers, and where there are wider ones, those
// too.
#if defined(BROADLOOM_ONE_LANE)
#define BL_WIDTHS(FORM, name, form)                                                                \
  FORM(name##_f32, form, float, 1) FORM(name##_f64, form, double, 1)
#define BL_WIDTHS_F32(FORM, name, form) FORM(name##_f32, form, float, 1)
#elif defined(__AVX512F__)
#define BL_WIDTHS(FORM, name, form)                                                                \
  FORM(name##_f32, form, float, 8)                                                                 \
  FORM(name##_f64, form, double, 4)                                                                \
  FORM(name##_f32, form, float, 16)                                                                \
  FORM(name##_f64, form, double, 8)
#define BL_WIDTHS_F32(FORM, name, form)                                                            \
  FORM(name##_f32, form, float, 8) FORM(name##_f32, form, float, 16)
#elif defined(__aarch64__)
#define BL_WIDTHS(FORM, name, form)                                                                \
  FORM(name##_f32, form, float, 4) FORM(name##_f64, form, double, 2)
#define BL_WIDTHS_F32(FORM, name, form) FORM(name##_f32, form, float, 4)
#else
#define BL_WIDTHS(FORM, name, form)                                                                \
  FORM(name##_f32, form, float, 8) FORM(name##_f64, form, double, 4)
#define BL_WIDTHS_F32(FORM, name, form) FORM(name##_f32, form, float, 8)
#endif

#define BL_UNARY(name) BL_WIDTHS(BL_UNARY_FORM, name, name)
#define BL_BINARY(name) BL_WIDTHS(BL_BINARY_FORM, name, name)
#include "math/functions.def"

#define BL_EXACT_UNARY(name) BL_WIDTHS_F32(BL_UNARY_FORM, exact_##name, exact::name)
#define BL_EXACT_BINARY(name) BL_WIDTHS_F32(BL_BINARY_FORM, exact_##name, exact::name)
#define BL_FAST_UNARY(name) BL_WIDTHS_F32(BL_UNARY_FORM, fast_##name, fast::name)
#define BL_FAST_BINARY(name) BL_WIDTHS_F32(BL_BINARY_FORM, fast_##name, fast::name)
#include "math/modes.def"
