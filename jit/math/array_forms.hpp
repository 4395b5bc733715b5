// Our math functions over whole arrays, compiled ahead of time for each ISA level.
//
// Problem: tests and benchmarks want to run the vector forms without a JIT, at the level of their
// choice, from code that is compiled for no particular level.
// Method: array_forms.cpp is compiled by clang once for each level, and its symbols get the level
// as a prefix (so that the linker cannot take an AVX-512 copy of an inline function for everybody).
// Whole vectors run in the widest form of the level, the tail with one lane; the bits are the same.
// array_table.hpp lists them all.
// Example: v4_bl_array_exp_f32(n, x, out), on a machine with AVX-512.
#pragma once

#include <cstddef>

#if defined(__aarch64__) // has one level, which stands in for both
#define BL_UNARY_FORM(symbol, T)                                                                   \
  extern "C" void neon_bl_array_##symbol(std::size_t n, const T *x, T *out);                       \
  inline constexpr auto v3_bl_array_##symbol = neon_bl_array_##symbol,                             \
                        v4_bl_array_##symbol = neon_bl_array_##symbol;
#define BL_BINARY_FORM(symbol, T)                                                                  \
  extern "C" void neon_bl_array_##symbol(std::size_t n, const T *x, const T *y, T *out);           \
  inline constexpr auto v3_bl_array_##symbol = neon_bl_array_##symbol,                             \
                        v4_bl_array_##symbol = neon_bl_array_##symbol;
#else
#define BL_UNARY_FORM(symbol, T)                                                                   \
  extern "C" void v3_bl_array_##symbol(std::size_t n, const T *x, T *out);                         \
  extern "C" void v4_bl_array_##symbol(std::size_t n, const T *x, T *out);
#define BL_BINARY_FORM(symbol, T)                                                                  \
  extern "C" void v3_bl_array_##symbol(std::size_t n, const T *x, const T *y, T *out);             \
  extern "C" void v4_bl_array_##symbol(std::size_t n, const T *x, const T *y, T *out);
#endif

#define BL_UNARY(name) BL_UNARY_FORM(name##_f32, float) BL_UNARY_FORM(name##_f64, double)
#define BL_BINARY(name) BL_BINARY_FORM(name##_f32, float) BL_BINARY_FORM(name##_f64, double)
#include "math/functions.def"
#undef BL_UNARY
#undef BL_BINARY

#define BL_EXACT_UNARY(name) BL_UNARY_FORM(exact_##name##_f32, float)
#define BL_EXACT_BINARY(name) BL_BINARY_FORM(exact_##name##_f32, float)
#define BL_FAST_UNARY(name) BL_UNARY_FORM(fast_##name##_f32, float)
#define BL_FAST_BINARY(name) BL_BINARY_FORM(fast_##name##_f32, float)
#include "math/modes.def"
#undef BL_EXACT_UNARY
#undef BL_EXACT_BINARY
#undef BL_FAST_UNARY
#undef BL_FAST_BINARY
#undef BL_UNARY_FORM
#undef BL_BINARY_FORM
