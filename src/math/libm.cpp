// Forwards to the system's libm, or to special.hpp; see libm.hpp.
#include "math/libm.hpp"

#include "math/special.hpp"

#include <cmath>
#include <iterator>

namespace {

// What the names of libm.def mean: std's overloads for float and double, and ours.
namespace functions {
using broadloom::math::polygamma;
using std::fmod;
} // namespace functions

} // namespace

#define BL_UNARY(name)                                                                             \
  float bl_libm_##name##_f32(float x) { return functions::name(x); }                               \
  double bl_libm_##name##_f64(double x) { return functions::name(x); }
#define BL_BINARY(name)                                                                            \
  float bl_libm_##name##_f32(float x, float y) { return functions::name(x, y); }                   \
  double bl_libm_##name##_f64(double x, double y) { return functions::name(x, y); }
#include "math/libm.def"
#undef BL_UNARY
#undef BL_BINARY

namespace broadloom::math {

std::span<const LibmSymbol> libm_symbols() {
#define BL_ROWS(name, arity)                                                                       \
  {"bl_libm_" #name "_f32", #name, arity, 32, reinterpret_cast<void *>(bl_libm_##name##_f32)},     \
      {"bl_libm_" #name "_f64", #name, arity, 64, reinterpret_cast<void *>(bl_libm_##name##_f64)},
#define BL_UNARY(name) BL_ROWS(name, 1)
#define BL_BINARY(name) BL_ROWS(name, 2)
  static const LibmSymbol symbols[] = {
#include "math/libm.def"
  };
#undef BL_UNARY
#undef BL_BINARY
#undef BL_ROWS
  return symbols;
}

void *address_of(std::string_view symbol) {
  for (const LibmSymbol &s : libm_symbols())
    if (s.symbol == symbol) return s.address;
  return nullptr;
}

} // namespace broadloom::math
