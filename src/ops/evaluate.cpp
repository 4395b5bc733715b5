// The definition of every operation on one element, and of the conversions between element types.
//
// Constant folding, the interpreter, the reference and the tests all ask here; native code must
// give the same bits, so wherever the order of steps matters it is written down as a sequence of
// plain IEEE operations. Everything is total: no trap, no undefined behaviour, an answer for every
// argument.
//
//   evaluate(Op::FloorDiv, DType::I32, {-7, 2})  is -4
//   convert(300.7, F64, U8)                      is 255
//
// All NaNs are one value: no answer depends on the sign or the payload of a NaN.
#include "ops/evaluate_kinds.hpp"
#include "support/check.hpp"

#include <cmath>
#include <limits>
#include <string>

namespace broadloom::ops {

void unsupported(DType dtype) { support::bug("no arithmetic for " + std::string(name(dtype))); }
void undefined(Op op, DType compute) {
  support::bug(std::string(info(op).enumerator) + " is not defined for " +
               std::string(name(compute)));
}

Scalar evaluate(Op op, DType compute, std::span<const Scalar> args, Accuracy accuracy) {
  const Scalar *a = args.data();
  if (op == Op::Where) return a[0].bits != 0 ? a[1] : a[2];
  if (compute == DType::C64) return evaluate_complex<float>(op, a);
  if (compute == DType::C128) return evaluate_complex<double>(op, a);
  return visit_dtype(compute, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>)
      return evaluate_bool(op, a);
    else if constexpr (is_narrow<T>)
      return unsupported(compute), Scalar{}; // they compute in f32
    else if constexpr (std::is_floating_point_v<T>)
      return evaluate_float<T>(op, a, accuracy);
    else
      return evaluate_integer<T>(op, a);
  });
}

namespace {

// Truncates towards zero and saturates; NaN gives 0. 2^digits is exact in any float type, and all
// that is below it and above the least integer truncates to a value that To has.
template <class To, class From> To saturate(From value) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(value)) return 0;
  if (value >= std::ldexp(From(1), Limits::digits)) return Limits::max();
  if (value <= From(Limits::min())) return Limits::min();
  return To(value);
}

// A double that rounds to 24 bits or fewer as the integer does: beyond 2^53 the low bits, of which
// only matters whether they are all zero, are put into one.
template <class T> double exact_enough(T value) {
  if constexpr (sizeof(T) == 8) {
    constexpr T limit = T(1) << 53, low = 0xfff;
    bool far = value > limit;
    if constexpr (std::is_signed_v<T>) far = far || value < -limit;
    if (far && (value & low) != 0) value = (value & ~low) | T(0x800);
  }
  return double(value);
}

template <class To, class From> To convert_one(From value) {
  if constexpr (is_narrow<From>)
    return convert_one<To>(float(value));
  else if constexpr (is_narrow<To> && std::is_integral_v<From>)
    return To(exact_enough(value));
  else if constexpr (is_narrow<To>)
    return To(double(value));
  else if constexpr (std::is_same_v<To, bool>)
    return value != From(0);
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
    return saturate<To>(value);
  else
    return To(value); // integers wrap, integers to floats round once
}

} // namespace

Scalar convert(Scalar value, DType from, DType to) {
  if (from == to) return value;
  if (is_complex(from) && to == DType::Bool)
    return scalar_from(convert({value.bits}, real_dtype(from), to).bits != 0 ||
                       convert({value.imag}, real_dtype(from), to).bits != 0);
  if (is_complex(to))
    return {convert({value.bits}, real_dtype(from), real_dtype(to)).bits,
            is_complex(from) ? convert({value.imag}, real_dtype(from), real_dtype(to)).bits : 0};
  return visit_dtype(from, [&]<class From>() {
    const From x = from_scalar<From>(value);
    return visit_dtype(to, [&]<class To>() { return to_scalar<To>(convert_one<To>(x)); });
  });
}

Scalar identity(Fold fold, DType accumulate) {
  if (is_complex(accumulate)) return {identity(fold, real_dtype(accumulate)).bits, 0};
  return visit_dtype(accumulate, [&]<class T>() {
    if constexpr (is_narrow<T>) unsupported(accumulate);
    using Limits = std::numeric_limits<T>;
    switch (fold) {
    case Fold::Sum:
    case Fold::Mean:
    case Fold::Any: return to_scalar<T>(T(0));
    case Fold::Prod:
    case Fold::All: return to_scalar<T>(T(1));
    case Fold::Min: return to_scalar<T>(Limits::has_infinity ? Limits::infinity() : Limits::max());
    case Fold::Max:
      return to_scalar<T>(Limits::has_infinity ? T(-Limits::infinity()) : Limits::lowest());
    case Fold::Var:
    case Fold::Std:
    case Fold::Norm:
    case Fold::LogSumExp:
    case Fold::ArgMin:
    case Fold::ArgMax:
    case Fold::User: break;
    }
    return Scalar{};
  });
}

Scalar load(const void *address, DType dtype) {
  const char *first = static_cast<const char *>(address);
  if (is_complex(dtype)) {
    const DType real = real_dtype(dtype);
    return {load(first, real).bits, load(first + size_of(real), real).bits};
  }
  return visit_dtype(dtype, [&]<class T>() { return to_scalar<T>(read<T>(first)); });
}

void store(void *address, DType dtype, Scalar value) {
  char *first = static_cast<char *>(address);
  if (is_complex(dtype)) {
    const DType real = real_dtype(dtype);
    store(first, real, {value.bits});
    return store(first + size_of(real), real, {value.imag});
  }
  visit_dtype(dtype, [&]<class T>() { write<T>(first, from_scalar<T>(value)); });
}

// ------------------------------------------------------------------------------------- rows

namespace {

// Whatever their type, the elements move as they are.
template <std::size_t size>
void where_row(const Row *args, WritableRow out, std::int64_t count, Accuracy) {
  for (std::int64_t i = 0; i < count; ++i) {
    const bool condition = read<bool>(args[0].data + i * args[0].step);
    const Row &taken = args[condition ? 1 : 2];
    std::memmove(out.data + i * out.step, taken.data + i * taken.step, size);
  }
}

// A complex number as it lies in memory.
template <class T> struct Pair {
  using Part = T;
  T re, im;
};
template <class T> constexpr bool is_pair = false;
template <class T> constexpr bool is_pair<Pair<T>> = true;

template <class To, class From> To convert_element(From value) {
  if constexpr (std::is_same_v<From, To>)
    return value; // a NaN keeps its bits
  else if constexpr (is_pair<From> && is_pair<To>)
    return {typename To::Part(value.re), typename To::Part(value.im)};
  else if constexpr (is_pair<To>)
    return {convert_one<typename To::Part>(value), 0};
  else if constexpr (!is_pair<From>)
    return convert_one<To>(value);
  else
    return value.re != 0 || value.im != 0; // to bool
}

template <class From, class To>
void convert_row_of(const Row *from, WritableRow to, std::int64_t count, Accuracy) {
  const Row row = *from;
  for (std::int64_t i = 0; i < count; ++i)
    write<To>(to.data + i * to.step, convert_element<To>(read<From>(row.data + i * row.step)));
}

// visit_dtype with the complex types, too.
template <class Visitor> RowFunction visit_element(DType dtype, Visitor &&visitor) {
  if (dtype == DType::C64) return visitor.template operator()<Pair<float>>();
  if (dtype == DType::C128) return visitor.template operator()<Pair<double>>();
  return visit_dtype(dtype, visitor);
}

} // namespace

RowFunction row_function(Op op, DType compute) {
  if (op == Op::Where) {
    switch (size_of(compute)) {
    case 1: return where_row<1>;
    case 2: return where_row<2>;
    case 4: return where_row<4>;
    case 8: return where_row<8>;
    default: return where_row<16>;
    }
  }
  if (compute == DType::C64) return complex_row<float>(op);
  if (compute == DType::C128) return complex_row<double>(op);
  return visit_dtype(compute, [&]<class T>() -> RowFunction {
    if constexpr (std::is_same_v<T, bool>)
      return bool_row(op);
    else if constexpr (is_narrow<T>)
      return unsupported(compute), nullptr; // they compute in f32
    else if constexpr (std::is_floating_point_v<T>)
      return float_row<T>(op);
    else
      return integer_row<T>(op);
  });
}

RowFunction row_conversion(DType from, DType to) {
  return visit_element(from, [&]<class From>() {
    return visit_element(to, [&]<class To>() -> RowFunction {
      if constexpr (is_pair<From> && !is_pair<To> && !std::is_same_v<To, bool>)
        return unsupported(from), nullptr; // analysis lets no complex number become real
      else
        return convert_row_of<From, To>;
    });
  });
}

} // namespace broadloom::ops
