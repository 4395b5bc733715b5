// Our math functions for one value: what the interpreter, the reference and constant folding call.
//
// Problem: native kernels inline the vector forms of functions.hpp, and an interpreted kernel must
// give the same bits.
// Method: the same templates with one lane. Every function is an overload for float and double, and
// a table lists them by name.
// Example:
//   math::exp(1.0f);                                     // same bits as bl_exp_f32x16 in its lanes
//   math::find_function("pow")->binary_f64(2.0, 0.5);
#pragma once

#include <broadloom/accuracy.hpp>

#include <span>
#include <string_view>

namespace broadloom::math {

#define BL_UNARY(name)                                                                             \
  float name(float x);                                                                             \
  double name(double x);
#define BL_BINARY(name)                                                                            \
  float name(float x, float y);                                                                    \
  double name(double x, double y);
#include "math/functions.def"
#undef BL_UNARY
#undef BL_BINARY

// The forms of the other accuracy modes: exact::exp, fast::exp.
#define BL_EXACT_UNARY(name)                                                                       \
  namespace exact {                                                                                \
  float name(float x);                                                                             \
  }
#define BL_EXACT_BINARY(name)                                                                      \
  namespace exact {                                                                                \
  float name(float x, float y);                                                                    \
  }
#define BL_FAST_UNARY(name)                                                                        \
  namespace fast {                                                                                 \
  float name(float x);                                                                             \
  }
#define BL_FAST_BINARY(name)                                                                       \
  namespace fast {                                                                                 \
  float name(float x, float y);                                                                    \
  }
#include "math/modes.def"
#undef BL_EXACT_UNARY
#undef BL_EXACT_BINARY
#undef BL_FAST_UNARY
#undef BL_FAST_BINARY

// One function in both types; the pair of pointers that fits its arity is set.
struct ScalarFunction {
  std::string_view name;
  int arity;
  float (*unary_f32)(float) = nullptr;
  double (*unary_f64)(double) = nullptr;
  float (*binary_f32)(float, float) = nullptr;
  double (*binary_f64)(double, double) = nullptr;
};

// A form of a function in f32 for another mode than high.
struct ModeForm {
  std::string_view name;
  Accuracy accuracy;
  float (*unary)(float) = nullptr;
  float (*binary)(float, float) = nullptr;
};
// Null where the high form serves.
const ModeForm *find_form(std::string_view name, Accuracy accuracy);

// Ours, which have vector forms in the embedded bitcode.
std::span<const ScalarFunction> vector_functions();
// Those of libm.hpp, which run one value at a time.
std::span<const ScalarFunction> single_functions();

// What the vector forms call for rare arguments, under the names by which native code asks for it.
struct ColdSymbol {
  std::string_view symbol;
  void *address;
};
std::span<const ColdSymbol> cold_symbols();

// Null for a name that is in neither list.
const ScalarFunction *find_function(std::string_view name);
// True for a name in vector_functions().
bool is_vectorised(std::string_view name);

} // namespace broadloom::math
