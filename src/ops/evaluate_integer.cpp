// Every operation on integers and bools.
//
// All arithmetic is done modulo 2^64 and cut to the width of the type, which is wrap-around for any
// width. Division by zero gives 0 (quotient and remainder), MIN // -1 gives MIN, a shift by a
// negative count or by the width and more gives 0, or the sign where a signed value goes right.
#include "ops/evaluate_kinds.hpp"
#include "ops/others.hpp"

#include <cstdint>

namespace broadloom::ops {
namespace {

// The wrapped value of 64-bit arithmetic.
template <class T> Scalar wrap(std::uint64_t bits) { return to_scalar<T>(T(bits)); }

// Quotient and remainder towards zero; 0 and 0 for a zero divisor, MIN and 0 for MIN / -1. (Native
// code divides by 1 in those cases and then selects.)
template <class T> struct Division {
  T quotient, remainder;
};
template <class T> Division<T> truncating_division(T a, T b) {
  if (b == 0) return {0, 0};
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return {T(std::uint64_t(0) - std::uint64_t(a)), 0};
  }
  return {T(a / b), T(a % b)};
}

// Towards minus infinity; the remainder has the sign of the divisor.
template <class T> Division<T> flooring_division(T a, T b) {
  Division<T> d = truncating_division(a, b);
  if constexpr (std::is_signed_v<T>) {
    if (d.remainder != 0 && (d.remainder < 0) != (b < 0)) {
      d.quotient = T(d.quotient - 1);
      d.remainder = T(d.remainder + b);
    }
  }
  return d;
}

// Squaring and multiplying modulo 2^64. A negative exponent gives the truncated quotient 1 / a^-b:
// 1 for base 1, +-1 for base -1, else 0.
template <class T> Scalar power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) return to_scalar<T>(1);
      if (base == T(-1)) return to_scalar<T>((exponent & 1) != 0 ? T(-1) : T(1));
      return to_scalar<T>(0);
    }
  }
  std::uint64_t result = 1, square = std::uint64_t(base);
  for (std::uint64_t rest = std::uint64_t(exponent); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result *= square;
    square *= square;
  }
  return wrap<T>(result);
}

// Whether a shift by `count` stays within the width of T; a negative count never does.
template <class T> bool shifts_within(T count) { return std::uint64_t(count) < sizeof(T) * 8; }

// Always inline: where `op` is a constant, as in a row, one case is left of the switch.
template <class T> [[gnu::always_inline]] inline Scalar one_integer(Op op, const Scalar *args) {
  const std::uint64_t a = args[0].bits;
  // A unary operation has no second argument to read.
  const std::uint64_t b = arity_of(op) > 1 ? args[1].bits : 0;
  const T x = T(a), y = T(b);
  switch (op) {
  case Op::Add: return wrap<T>(a + b);
  case Op::Sub: return wrap<T>(a - b);
  case Op::Mul: return wrap<T>(a * b);
  case Op::FloorDiv: return to_scalar<T>(flooring_division(x, y).quotient);
  case Op::Mod: return to_scalar<T>(flooring_division(x, y).remainder);
  case Op::Fmod: return to_scalar<T>(truncating_division(x, y).remainder);
  case Op::Pow: return power(x, y);
  case Op::Neg: return wrap<T>(0 - a);
  case Op::BitAnd: return wrap<T>(a & b);
  case Op::BitOr: return wrap<T>(a | b);
  case Op::BitXor: return wrap<T>(a ^ b);
  case Op::BitNot: return wrap<T>(~a);
  case Op::Shl: return wrap<T>(shifts_within(y) ? a << b : 0);
  case Op::Shr:
    if (shifts_within(y)) return to_scalar<T>(T(x >> y));
    return to_scalar<T>(std::is_signed_v<T> && x < 0 ? T(-1) : T(0));
  case Op::Eq: return scalar_from(x == y);
  case Op::Ne: return scalar_from(x != y);
  case Op::Lt: return scalar_from(x < y);
  case Op::Le: return scalar_from(x <= y);
  case Op::Gt: return scalar_from(x > y);
  case Op::Ge: return scalar_from(x >= y);
  case Op::And: return scalar_from(x != 0 && y != 0);
  case Op::Or: return scalar_from(x != 0 || y != 0);
  case Op::Not: return scalar_from(x == 0);
  case Op::Maximum:
  case Op::Fmax: return x > y ? args[0] : args[1];
  case Op::Minimum:
  case Op::Fmin: return x < y ? args[0] : args[1];
  case Op::Abs: return std::is_signed_v<T> && x < 0 ? wrap<T>(0 - a) : args[0];
  case Op::Sign: return to_scalar<T>(x > 0 ? T(1) : x == 0 ? T(0) : T(-1));
  case Op::Floor:
  case Op::Ceil:
  case Op::Round:
  case Op::Trunc:
  case Op::Conj:
  case Op::Real: return args[0];
  case Op::Imag: return to_scalar<T>(0);
  case Op::IsNan:
  case Op::IsInf: return scalar_from(false);
  case Op::IsFinite: return scalar_from(true);
#define BL_OP BL_NOT_OF_INTEGERS
#include "ops/ops.def"
    break;
  }
  undefined(op, dtype_of<T>());
}

template <class T, Op op>
void integer_row_of(const Row *args, WritableRow out, std::int64_t count, Accuracy) {
  using R = std::conditional_t<gives_bool(op), bool, T>;
  for_row<T, R, arity_of(op)>(args, out, count,
                              [](const Scalar *values) { return one_integer<T>(op, values); });
}

template <class T, std::size_t... k>
constexpr std::array<RowFunction, sizeof...(k)> integer_rows(std::index_sequence<k...>) {
  return {integer_row_of<T, Op(k)>...};
}

} // namespace

template <class T> Scalar evaluate_integer(Op op, const Scalar *args) {
  return one_integer<T>(op, args);
}
template <class T> RowFunction integer_row(Op op) {
  static constexpr auto rows = integer_rows<T>(std::make_index_sequence<arities.size()>());
  return rows[std::size_t(op)];
}

template Scalar evaluate_integer<std::int8_t>(Op, const Scalar *);
template RowFunction integer_row<std::int8_t>(Op);
template Scalar evaluate_integer<std::int16_t>(Op, const Scalar *);
template RowFunction integer_row<std::int16_t>(Op);
template Scalar evaluate_integer<std::int32_t>(Op, const Scalar *);
template RowFunction integer_row<std::int32_t>(Op);
template Scalar evaluate_integer<std::int64_t>(Op, const Scalar *);
template RowFunction integer_row<std::int64_t>(Op);
template Scalar evaluate_integer<std::uint8_t>(Op, const Scalar *);
template RowFunction integer_row<std::uint8_t>(Op);
template Scalar evaluate_integer<std::uint16_t>(Op, const Scalar *);
template RowFunction integer_row<std::uint16_t>(Op);
template Scalar evaluate_integer<std::uint32_t>(Op, const Scalar *);
template RowFunction integer_row<std::uint32_t>(Op);
template Scalar evaluate_integer<std::uint64_t>(Op, const Scalar *);
template RowFunction integer_row<std::uint64_t>(Op);

// NumPy's bools: + is or, * is and, ~ is not; false < true.
Scalar evaluate_bool(Op op, const Scalar *args) {
  const bool x = args[0].bits != 0;
  const bool y = arity_of(op) > 1 && args[1].bits != 0;
  switch (op) {
  case Op::Add:
  case Op::BitOr:
  case Op::Or:
  case Op::Maximum:
  case Op::Fmax: return scalar_from(x || y);
  case Op::Mul:
  case Op::BitAnd:
  case Op::And:
  case Op::Minimum:
  case Op::Fmin: return scalar_from(x && y);
  case Op::BitXor:
  case Op::Ne: return scalar_from(x != y);
  case Op::Eq: return scalar_from(x == y);
  case Op::Lt: return scalar_from(!x && y);
  case Op::Le: return scalar_from(!x || y);
  case Op::Gt: return scalar_from(x && !y);
  case Op::Ge: return scalar_from(x || !y);
  case Op::BitNot:
  case Op::Not: return scalar_from(!x);
  case Op::Abs:
  case Op::Floor:
  case Op::Ceil:
  case Op::Round:
  case Op::Trunc:
  case Op::Conj:
  case Op::Real: return scalar_from(x);
  case Op::Imag: return scalar_from(false);
  case Op::IsNan:
  case Op::IsInf: return scalar_from(false);
  case Op::IsFinite: return scalar_from(true);
#define BL_OP BL_NOT_OF_BOOL
#include "ops/ops.def"
    break;
  }
  undefined(op, DType::Bool);
}

namespace {

template <Op op> void bool_row_of(const Row *args, WritableRow out, std::int64_t count, Accuracy) {
  for_row<bool, bool, arity_of(op)>(args, out, count,
                                    [](const Scalar *values) { return evaluate_bool(op, values); });
}

template <std::size_t... k>
constexpr std::array<RowFunction, sizeof...(k)> bool_rows(std::index_sequence<k...>) {
  return {bool_row_of<Op(k)>...};
}

} // namespace

RowFunction bool_row(Op op) {
  static constexpr auto rows = bool_rows(std::make_index_sequence<arities.size()>());
  return rows[std::size_t(op)];
}

} // namespace broadloom::ops
