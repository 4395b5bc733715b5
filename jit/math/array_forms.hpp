// Our math functions over whole arrays, compiled ahead of time for each ISA level.
//
// Problem: tests and benchmarks want to run the vector forms without a JIT, at the level of their
// choice, from code that is compiled for no particular level.
// Method: array_forms.cpp is compiled by clang once for each level, and its symbols get the level
// as a prefix (so that the linker cannot take an AVX-512 copy of an inline function for everybody).
// Whole vectors run in the widest form of the level, the tail with one lane; the bits are the same.
// Example: v4_bl_array_exp_f32(n, x, out), on a machine with AVX-512.
#pragma once

#include <cstddef>

#define BL_LEVEL_UNARY(level, name)                                                                \
  extern "C" void level##_bl_array_##name##_f32(std::size_t n, const float *x, float *out);        \
  extern "C" void level##_bl_array_##name##_f64(std::size_t n, const double *x, double *out);
#define BL_LEVEL_BINARY(level, name)                                                               \
  extern "C" void level##_bl_array_##name##_f32(std::size_t n, const float *x, const float *y,     \
                                                float *out);                                       \
  extern "C" void level##_bl_array_##name##_f64(std::size_t n, const double *x, const double *y,   \
                                                double *out);
#define BL_UNARY(name) BL_LEVEL_UNARY(v3, name) BL_LEVEL_UNARY(v4, name)
#define BL_BINARY(name) BL_LEVEL_BINARY(v3, name) BL_LEVEL_BINARY(v4, name)
#include "math/functions.def"
#undef BL_UNARY
#undef BL_BINARY
#undef BL_LEVEL_UNARY
#undef BL_LEVEL_BINARY
