// The operations: one table (ops.def) for elementwise ones, one for accumulators.
//
// Everything that must know an operation's name, arity, types or cost reads these tables;
// everything that must act per operation (evaluate, emit) names all rows in a switch without
// default, so that a new row is a compiler warning until it is handled.
#pragma once

#include <broadloom/accumulator.hpp>
#include <broadloom/accuracy.hpp>
#include <broadloom/dtype.hpp>

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace broadloom::ops {

enum class Op : std::uint8_t {
#define BL_OP(enumerator, spelling, arity, rule, form, cost, math, kinds, scaling) enumerator,
#include "ops/ops.def"
};

// How argument types meet (promotion is NumPy 2's) and what comes out.
enum class TypeRule : std::uint8_t {
  Arithmetic,        // promote; result the same. On bool: + is or, * is and
  ArithmeticNotBool, // the same, and bool is an error, as in NumPy
  TrueDivide,        // promote; integers and bool become f64
  Divide,            // promote; bool becomes i8: // % ^ fmod square
  Bitwise,           // promote; integers and bool only
  Shift,             // promote; integers only, bool becomes i8
  Compare,           // promote; result bool
  Logical,           // every argument becomes bool (x != 0); result bool
  Select,            // first argument bool, the rest promote
  Same,              // any real type; integers and bool come back unchanged where it cannot matter
  FloatMath, // integers become floats as in NumPy (8 bits f16, 16 bits f32, else f64), then promote
  Classify,  // as FloatMath, result bool
  Any,       // any type, which comes back unchanged
};

enum class Form : std::uint8_t { Infix, Prefix, Ternary, Call };
enum class Math : std::uint8_t { Inline, Vector, Libm, Sugar };

// How a factor s of the arguments comes out of an operation or a reduction: what scale/ moves
// factors by.
enum class Scaling : std::uint8_t {
  None,        // in no known way
  Linear,      // f(s a) = s f(a)
  Joint,       // f(s a, s b) = s f(a, b)
  Bilinear,    // f(s a, b) = f(a, s b) = s f(a, b)
  Quotient,    // f(s a, b) = s f(a, b), f(a, s b) = f(a, b) / s
  Select,      // the first argument chooses, the others are Joint
  Homogeneous, // as Joint, where s > 0
  Invariant,   // f(s a, s b) = f(a, b), where s > 0
  Square,      // f(s a) = s^2 f(a)
  Root,        // f(s a) = s^(1/2) f(a), where s > 0
  Power, // f(s a) = s^n f(a): of a reduction, n is how many it folds; of ^, the number on the right
};

struct OpInfo {
  std::string_view spelling;
  int arity;
  TypeRule rule;
  Form form;
  int cost;
  Math math;
  std::string_view enumerator; // "FloorDiv": for logs and IR dumps
  Scaling scaling;
  bool is_function() const { return math == Math::Vector || math == Math::Libm; }
};

const OpInfo &info(Op op);
int op_count();

// A callable of the text form by name ("where", "exp", "pow" for ^); operators are not callables.
std::optional<Op> find_function(std::string_view name);

// The type in which values of this type are computed with and carried: f32 for f16 and bf16, else
// itself.
DType compute_dtype(DType dtype);

// The type in which `op` computes for these strongly typed arguments (all arguments are cast to it,
// save the condition of `where`), and the type that comes out. `error` is empty where it is fine.
struct Typing {
  DType compute = DType::F32; // never f16 or bf16
  DType result =
      DType::F32; // as NumPy has it; a value of f16 or bf16 is carried in f32, not yet rounded
  // Why these types cannot meet, without the name: "is not defined for bool".
  std::string_view error;
};
Typing type_of(Op op, std::span<const DType> args);

// What an operation gives for complex numbers: a complex value, a real one (abs) or a bool (==).
// None for those that complex numbers do not have; where, && || ! are none either, and work for all
// types.
enum class ComplexForm : std::uint8_t { Value, Part, Truth };
std::optional<ComplexForm> complex_form(Op op);

// ------------------------------------------------------------------------------- accumulators

// Operation: one state, one operation. Sugar: written out in other folds before anything else looks
// at it. Definition: see text/prelude.cpp.
enum class FoldKind : std::uint8_t { Operation, Sugar, Definition };
struct FoldInfo {
  std::string_view name;
  FoldKind kind;
  Op step;             // Operation: acc = step(acc, value); also joins two partial results
  bool needs_identity; // folding nothing is an error (min, max)
  Scaling scaling;     // by a factor that lacks the folded axes
};
const FoldInfo &info(Fold fold); // of a built-in one
int fold_count();
std::optional<Fold> find_fold(std::string_view name);

// The type in which a built-in fold of `value` accumulates (floats in f64, integers in i64 or u64,
// any and all in bool), and the type NumPy gives. Those of the user accumulate as sum does.
DType accumulate_dtype(Fold fold, DType value);
DType result_dtype(Fold fold, DType value);

// Whether partial results may be joined in any order without changing a bit: integers, bool, min
// and max, argmin and argmax.
bool commutes(Op op);
bool is_exact(Fold fold, DType accumulate);

// ---------------------------------------------------------------------------------- evaluation

// One element of any supported type: bool as 0 or 1, integers sign- or zero-extended to 64 bits,
// f16, bf16 and f32 in the low bits, f64 as they are; of complex types the real part, like a float.
struct Scalar {
  std::uint64_t bits = 0;
  std::uint64_t imag = 0; // of complex types the imaginary part, else 0
  friend bool operator==(const Scalar &, const Scalar &) = default;
};
inline Scalar scalar_from(double value) { return {std::bit_cast<std::uint64_t>(value)}; }
inline Scalar scalar_from(float value) { return {std::bit_cast<std::uint32_t>(value)}; }
inline Scalar scalar_from(bool value) { return {value ? 1u : 0u}; }
// Also for narrower and unsigned types.
inline Scalar scalar_from(std::int64_t value) { return {std::uint64_t(value)}; }
inline double as_f64(Scalar s) { return std::bit_cast<double>(s.bits); }
inline float as_f32(Scalar s) { return std::bit_cast<float>(std::uint32_t(s.bits)); }
inline std::int64_t as_i64(Scalar s) { return std::int64_t(s.bits); }

// The definition of every operation on one element, in the compute type: total, no traps, the same
// bits as native code. `args` hold `compute`-typed values (for Where: bool, then two).
// `accuracy` chooses among the forms of a function of f32.
Scalar evaluate(Op op, DType compute, std::span<const Scalar> args,
                Accuracy accuracy = Accuracy::high);

// Conversion of one element: integers wrap, floats to integers truncate and saturate with NaN to 0,
// anything to bool is `!= 0`, all else rounds once, to nearest even. A complex
// number becomes complex or bool only.
Scalar convert(Scalar value, DType from, DType to);

// The start value of a fold in its accumulate type: 0, 1, the greatest or the least value, false,
// true.
Scalar identity(Fold fold, DType accumulate);

// Reading and writing one element in memory.
Scalar load(const void *address, DType dtype);
void store(void *address, DType dtype, Scalar value);

} // namespace broadloom::ops
