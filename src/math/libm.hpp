// The functions that run one value at a time, under C names that native code can be bound to.
//
// Problem: a native kernel calls functions that have no vector form of ours yet, and the
// interpreter must call the very same ones.
// Method: one plain function for each name and type (bl_libm_fmod_f32, bl_libm_fmod_f64, ...), and
// a table from symbol to address. They forward to the system's libm; what it lacks (polygamma) is
// computed in long double.
// Example: void *address = math::address_of("bl_libm_fmod_f64");
#pragma once

#include <span>
#include <string_view>

#define BL_UNARY(name)                                                                             \
  extern "C" float bl_libm_##name##_f32(float x);                                                  \
  extern "C" double bl_libm_##name##_f64(double x);
#define BL_BINARY(name)                                                                            \
  extern "C" float bl_libm_##name##_f32(float x, float y);                                         \
  extern "C" double bl_libm_##name##_f64(double x, double y);
#include "math/libm.def"
#undef BL_UNARY
#undef BL_BINARY

namespace broadloom::math {

struct LibmSymbol {
  std::string_view symbol; // "bl_libm_fmod_f64"
  std::string_view name;   // "fmod"
  int arity;
  int bits; // of the type: 32 or 64
  void *address;
};

std::span<const LibmSymbol> libm_symbols();
// Null for a symbol that is not in the table.
void *address_of(std::string_view symbol);

} // namespace broadloom::math
