// The parts of evaluate.cpp, one for each kind of element type. Only evaluate*.cpp include this.
#pragma once

#include "ops/ops.hpp"
#include "ops/rows.hpp"
#include "support/element.hpp"

#include <broadloom/float16.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

namespace broadloom::ops {

using support::is_narrow;

// A Scalar from any element type, and back. Integers narrower than 64 bits are extended by their
// own sign, which also wraps a wider result: to_scalar<std::int8_t>(300) holds 44.
template <class T> Scalar to_scalar(std::type_identity_t<T> value) {
  if constexpr (std::is_floating_point_v<T>)
    return scalar_from(value);
  else if constexpr (is_narrow<T>)
    return {value.bits()};
  else if constexpr (std::is_same_v<T, bool>)
    return {value ? 1u : 0u};
  else if constexpr (std::is_signed_v<T>)
    return {std::uint64_t(std::int64_t(value))};
  else
    return {std::uint64_t(value)};
}
template <class T> T from_scalar(Scalar s) {
  if constexpr (std::is_same_v<T, float>)
    return as_f32(s);
  else if constexpr (std::is_same_v<T, double>)
    return as_f64(s);
  else if constexpr (is_narrow<T>)
    return T::from_bits(std::uint16_t(s.bits));
  else if constexpr (std::is_same_v<T, bool>)
    return s.bits != 0;
  else
    return T(s.bits);
}

[[noreturn]] void unsupported(DType dtype);        // our bug: analysis let the type through
[[noreturn]] void undefined(Op op, DType compute); // our bug: analysis let the pair through

// Calls visitor.template operator()<T>() for the C++ type of a supported dtype.
template <class Visitor> auto visit_dtype(DType dtype, Visitor &&visitor) {
  using Result = decltype(visitor.template operator()<float>());
  return support::with_type(dtype, [&]<class T>(T) -> Result {
    if constexpr (support::is_complex_type<T>)
      unsupported(dtype);
    else
      return visitor.template operator()<T>();
  });
}

// What loops over rows must know while they are compiled.
constexpr std::array arities{
#define BL_OP(enumerator, spelling, arity, rule, form, cost, math, kinds, scaling) arity,
#include "ops/ops.def"
};
constexpr std::array give_bool{
#define BL_OP(enumerator, spelling, arity, rule, form, cost, math, kinds, scaling)                 \
  TypeRule::rule == TypeRule::Compare || TypeRule::rule == TypeRule::Logical ||                    \
      TypeRule::rule == TypeRule::Classify,
#include "ops/ops.def"
};
constexpr int arity_of(Op op) { return arities[std::size_t(op)]; }
constexpr bool gives_bool(Op op) { return give_bool[std::size_t(op)]; }

// A bool in memory is a byte; any byte but 0 is true, and 1 is what is written.
template <class T> T read(const char *address) {
  if constexpr (std::is_same_v<T, bool>) {
    unsigned char byte;
    std::memcpy(&byte, address, 1);
    return byte != 0;
  } else {
    T value;
    std::memcpy(&value, address, sizeof value);
    return value;
  }
}
template <class T> void write(char *address, T value) {
  std::memcpy(address, &value, sizeof value);
}

// out[i] = one(args of i), where `one` maps Scalars of type T to a Scalar of type R.
template <class T, class R, int arity, class One>
void for_row(const Row *args, WritableRow out, std::int64_t count, One one) {
  Row rows[arity]; // copies, which a write to `out` cannot change
  std::copy(args, args + arity, rows);
  for (std::int64_t i = 0; i < count; ++i) {
    Scalar values[arity];
    for (int k = 0; k < arity; ++k)
      values[k] = to_scalar<T>(read<T>(rows[k].data + i * rows[k].step));
    write<R>(out.data + i * out.step, from_scalar<R>(one(values)));
  }
}

// The parts of row_function.
template <class T> RowFunction float_row(Op op); // T: float or double
template <class T> RowFunction integer_row(Op op);
RowFunction bool_row(Op op);
template <class T> RowFunction complex_row(Op op); // T of the parts

Scalar evaluate_bool(Op op, const Scalar *args);
template <class T> Scalar evaluate_integer(Op op, const Scalar *args);
template <class T>
Scalar evaluate_float(Op op, const Scalar *args, Accuracy accuracy = Accuracy::high);
template <class T> Scalar evaluate_complex(Op op, const Scalar *args); // T of the parts
// The rows of the table that are Math::Vector or Math::Libm; unary ones do not read y.
template <class T> T evaluate_math(Op op, T x, T y);
// The form of another mode than high, or evaluate_math's where there is none.
float evaluate_in_mode(Op op, Accuracy accuracy, float x, float y);

} // namespace broadloom::ops
