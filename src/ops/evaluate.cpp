// The definition of every operation on one element, and of the conversions between element types.
//
// Constant folding, the interpreter, the reference and the tests all ask here; native code must give
// the same bits, so wherever the order of steps matters it is written down as a sequence of plain IEEE
// operations. Everything is total: no trap, no undefined behaviour, an answer for every argument.
//
//   evaluate(Op::FloorDiv, DType::I32, {-7, 2})  is -4
//   convert(300.7, F64, U8)                      is 255
//
// All NaNs are one value: no answer depends on the sign or the payload of a NaN.
#include "ops/evaluate_kinds.hpp"
#include "support/check.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace broadloom::ops {

Scalar scalar_from(double value) { return {std::bit_cast<std::uint64_t>(value)}; }
Scalar scalar_from(float value) { return {std::bit_cast<std::uint32_t>(value)}; }
Scalar scalar_from(bool value) { return {value ? 1u : 0u}; }
Scalar scalar_from(std::int64_t value) { return {std::uint64_t(value)}; }
double as_f64(Scalar s) { return std::bit_cast<double>(s.bits); }
float as_f32(Scalar s) { return std::bit_cast<float>(std::uint32_t(s.bits)); }
std::int64_t as_i64(Scalar s) { return std::int64_t(s.bits); }

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

// Truncates towards zero and saturates; NaN gives 0. 2^digits is exact in any float type, and all that
// is below it and above the least integer truncates to a value that To has.
template <class To, class From> To saturate(From value) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(value)) return 0;
  if (value >= std::ldexp(From(1), Limits::digits)) return Limits::max();
  if (value <= From(Limits::min())) return Limits::min();
  return To(value);
}

// A double that rounds to 24 bits or fewer as the integer does: beyond 2^53 the low bits, of which only
// matters whether they are all zero, are put into one.
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

// A bool in memory is a byte; any byte but 0 is true, and 1 is what is written.
Scalar load(const void *address, DType dtype) {
  if (is_complex(dtype)) {
    const DType real = real_dtype(dtype);
    const void *second = static_cast<const char *>(address) + size_of(real);
    return {load(address, real).bits, load(second, real).bits};
  }
  return visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {
      unsigned char byte;
      std::memcpy(&byte, address, 1);
      return to_scalar<bool>(byte != 0);
    } else {
      T value;
      std::memcpy(&value, address, sizeof value);
      return to_scalar<T>(value);
    }
  });
}

void store(void *address, DType dtype, Scalar value) {
  if (is_complex(dtype)) {
    const DType real = real_dtype(dtype);
    store(address, real, {value.bits});
    return store(static_cast<char *>(address) + size_of(real), real, {value.imag});
  }
  visit_dtype(dtype, [&]<class T>() {
    const T typed = from_scalar<T>(value);
    std::memcpy(address, &typed, sizeof typed);
  });
}

} // namespace broadloom::ops
