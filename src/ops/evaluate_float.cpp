// Every operation on f32 and f64, each rounded once in its own type.
//
// Comparisons with NaN are false, save !=. The sign of a NaN is never looked at.
#include "math/libm.hpp"
#include "ops/evaluate_kinds.hpp"
#include "ops/others.hpp"

#include <cmath>

namespace broadloom::ops {
namespace {

// IEEE 754-2019 maximum and minimum: NaN if either is NaN; -0 < +0.
template <class T> T maximum(T x, T y) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}
template <class T> T minimum(T x, T y) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  if (x == y) return std::signbit(x) ? x : y;
  return x < y ? x : y;
}

// maximumNumber and minimumNumber: a NaN gives way to the other; else as above.
template <class T> T fmax(T x, T y) {
  return std::isnan(x) ? y : std::isnan(y) ? x : maximum(x, y);
}
template <class T> T fmin(T x, T y) {
  return std::isnan(x) ? y : std::isnan(y) ? x : minimum(x, y);
}

float fmod_of(float x, float y) { return bl_libm_fmod_f32(x, y); }
double fmod_of(double x, double y) { return bl_libm_fmod_f64(x, y); }

// 1 where x > 0, -1 where x < 0, +0 for both zeros, NaN for NaN.
template <class T> T sign(T x) { return std::isnan(x) ? x : T(x > 0) - T(x < 0); }

// The sign bit of y, where a NaN counts as positive, on the magnitude of x.
template <class T> T copy_sign(T x, T y) { return std::copysign(x, std::isnan(y) ? T(0) : y); }

// x // y and x % y as NumPy has them, in this very order of IEEE operations:
//   r = fmod(x, y)                       exact
//   q = (x - r) / y
//   adjust = r != 0 and (y < 0) != (r < 0)
//   q = adjust ? q - 1 : q
//   m = r == 0 ? copysign(0, y) : adjust ? r + y : r
//   f = floor(q);  f = q - f > 0.5 ? f + 1 : f
//   x // y = y == 0 ? x / y : q == 0 ? copysign(0, x / y) : f
//   x % y  = y == 0 ? r : m
// With NaNs `!=` is true, `==`, `<` and `>` are false.
template <class T> struct FloatDivision {
  T quotient, remainder;
};
template <class T> FloatDivision<T> floored_division(T x, T y) {
  const T r = fmod_of(x, y);
  if (y == 0) return {x / y, r};
  T q = (x - r) / y;
  T m = r;
  if (r == 0) {
    m = std::copysign(T(0), y);
  } else if ((y < 0) != (r < 0)) {
    q = q - 1;
    m = r + y;
  }
  if (q == 0) return {std::copysign(T(0), x / y), m};
  T f = std::floor(q);
  if (q - f > T(0.5)) f = f + 1;
  return {f, m};
}

// Always inline: where `op` is a constant, as in a row, one case is left of the switch.
template <class T>
[[gnu::always_inline]] inline Scalar one_float(Op op, const Scalar *args,
                                               [[maybe_unused]] Accuracy accuracy) {
  const T x = from_scalar<T>(args[0]);
  // A unary operation has no second argument to read.
  const T y = arity_of(op) > 1 ? from_scalar<T>(args[1]) : T(0);
  switch (op) {
  case Op::Add: return scalar_from(T(x + y));
  case Op::Sub: return scalar_from(T(x - y));
  case Op::Mul: return scalar_from(T(x * y));
  case Op::Div: return scalar_from(T(x / y));
  case Op::FloorDiv: return scalar_from(floored_division(x, y).quotient);
  case Op::Mod: return scalar_from(floored_division(x, y).remainder);
  case Op::Neg: return scalar_from(T(-x)); // flips the sign, of zeros too
  case Op::Eq: return scalar_from(x == y);
  case Op::Ne: return scalar_from(x != y);
  case Op::Lt: return scalar_from(x < y);
  case Op::Le: return scalar_from(x <= y);
  case Op::Gt: return scalar_from(x > y);
  case Op::Ge: return scalar_from(x >= y);
  case Op::And: return scalar_from(x != 0 && y != 0);
  case Op::Or: return scalar_from(x != 0 || y != 0);
  case Op::Not: return scalar_from(x == 0);
  case Op::Maximum: return scalar_from(maximum(x, y));
  case Op::Minimum: return scalar_from(minimum(x, y));
  case Op::Fmax: return scalar_from(fmax(x, y));
  case Op::Fmin: return scalar_from(fmin(x, y));
  case Op::Abs: return scalar_from(std::fabs(x)); // clears the sign
  case Op::Sign: return scalar_from(sign(x));
  case Op::Floor: return scalar_from(std::floor(x));
  case Op::Ceil: return scalar_from(std::ceil(x));
  case Op::Round: return scalar_from(std::nearbyint(x)); // half to even; -0.4 gives -0
  case Op::Trunc: return scalar_from(std::trunc(x));
  case Op::Sqrt: return scalar_from(std::sqrt(x));
  case Op::CopySign: return scalar_from(copy_sign(x, y));
  case Op::IsNan: return scalar_from(bool(std::isnan(x)));
  case Op::IsInf: return scalar_from(bool(std::isinf(x)));
  case Op::IsFinite: return scalar_from(bool(std::isfinite(x)));
  case Op::Conj:
  case Op::Real: return args[0];
  case Op::Imag: return scalar_from(T(0));
  case Op::Fma: return scalar_from(std::fma(x, y, from_scalar<T>(args[2])));
#define BL_OP BL_OF_MATH
#include "ops/ops.def"
    if constexpr (std::is_same_v<T, float>)
      return scalar_from(evaluate_in_mode(op, accuracy, x, y));
    else
      return scalar_from(evaluate_math<T>(op, x, y)); // f64 has one form
#define BL_OP BL_NEITHER_FLOATS_NOR_MATH
#include "ops/ops.def"
    break;
  }
  undefined(op, dtype_of<T>());
}

template <class T, Op op>
void float_row_of(const Row *args, WritableRow out, std::int64_t count, Accuracy accuracy) {
  using R = std::conditional_t<gives_bool(op), bool, T>;
  for_row<T, R, arity_of(op)>(args, out, count, [accuracy](const Scalar *values) {
    return one_float<T>(op, values, accuracy);
  });
}

template <class T, std::size_t... k>
constexpr std::array<RowFunction, sizeof...(k)> float_rows(std::index_sequence<k...>) {
  return {float_row_of<T, Op(k)>...};
}

} // namespace

template <class T> Scalar evaluate_float(Op op, const Scalar *args, Accuracy accuracy) {
  return one_float<T>(op, args, accuracy);
}
template <class T> RowFunction float_row(Op op) {
  static constexpr auto rows = float_rows<T>(std::make_index_sequence<arities.size()>());
  return rows[std::size_t(op)];
}

template Scalar evaluate_float<float>(Op, const Scalar *, Accuracy);
template Scalar evaluate_float<double>(Op, const Scalar *, Accuracy);
template RowFunction float_row<float>(Op);
template RowFunction float_row<double>(Op);

} // namespace broadloom::ops
