// Element types and the NumPy 2 rule for mixing them. The names are NumPy's short ones.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>
#include <type_traits>

namespace broadloom {

enum class DType : std::uint8_t {
  Bool,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F16,
  BF16,
  F32,
  F64,
  C64,
  C128,
};
inline constexpr int dtype_count = 15;

inline constexpr DType bool_ = DType::Bool;
inline constexpr DType i8 = DType::I8;
inline constexpr DType i16 = DType::I16;
inline constexpr DType i32 = DType::I32;
inline constexpr DType i64 = DType::I64;
inline constexpr DType u8 = DType::U8;
inline constexpr DType u16 = DType::U16;
inline constexpr DType u32 = DType::U32;
inline constexpr DType u64 = DType::U64;
inline constexpr DType f16 = DType::F16;
inline constexpr DType bf16 = DType::BF16;
inline constexpr DType f32 = DType::F32;
inline constexpr DType f64 = DType::F64;
inline constexpr DType c64 = DType::C64;
inline constexpr DType c128 = DType::C128;

// "f32", "bool", ...: the spelling of the text form.
std::string_view name(DType dtype);
std::ostream &operator<<(std::ostream &out, DType dtype);

// The inverse of `name`; empty for any other word.
std::optional<DType> dtype_from_name(std::string_view word);

// Bytes of one element: 1 for bool, 16 for c128.
std::size_t size_of(DType dtype);

constexpr bool is_signed_integer(DType d) { return d >= DType::I8 && d <= DType::I64; }
constexpr bool is_unsigned_integer(DType d) { return d >= DType::U8 && d <= DType::U64; }
constexpr bool is_integer(DType d) { return d >= DType::I8 && d <= DType::U64; }
constexpr bool is_float(DType d) { return d >= DType::F16 && d <= DType::F64; }
constexpr bool is_complex(DType d) { return d == DType::C64 || d == DType::C128; }

// f16 and bf16: types of elements in memory and of explicit casts, which compute in f32.
constexpr bool is_narrow_float(DType d) { return d == DType::F16 || d == DType::BF16; }

// The type of the parts of a complex type, any other as it is.
constexpr DType real_dtype(DType d) {
  return d == DType::C64 ? DType::F32 : d == DType::C128 ? DType::F64 : d;
}

// The common type of two strongly typed operands, NumPy 2's table (NEP 50). i32 with f32 gives f64,
// u64 with i64 gives f64, bool gives way to all. bf16 stands where f16 does; f16 with bf16 is f32.
DType promote(DType a, DType b);

// The element type of a C++ type: dtype_of<float>() is f32. Other C++ types are no elements.
template <class T> constexpr DType dtype_of() = delete;
template <> constexpr DType dtype_of<bool>() { return DType::Bool; }
template <> constexpr DType dtype_of<std::int8_t>() { return DType::I8; }
template <> constexpr DType dtype_of<std::int16_t>() { return DType::I16; }
template <> constexpr DType dtype_of<std::int32_t>() { return DType::I32; }
template <> constexpr DType dtype_of<std::int64_t>() { return DType::I64; }
template <> constexpr DType dtype_of<long long>() { return DType::I64; }
template <> constexpr DType dtype_of<std::uint8_t>() { return DType::U8; }
template <> constexpr DType dtype_of<std::uint16_t>() { return DType::U16; }
template <> constexpr DType dtype_of<std::uint32_t>() { return DType::U32; }
template <> constexpr DType dtype_of<std::uint64_t>() { return DType::U64; }
template <> constexpr DType dtype_of<unsigned long long>() { return DType::U64; }
template <> constexpr DType dtype_of<float>() { return DType::F32; }
template <> constexpr DType dtype_of<double>() { return DType::F64; }
template <> constexpr DType dtype_of<std::complex<float>>() { return DType::C64; }
template <> constexpr DType dtype_of<std::complex<double>>() { return DType::C128; }
#if defined(__aarch64__) && !defined(__clang__) && __GNUC__ < 13 // which has it in C alone
template <> constexpr DType dtype_of<__fp16>() { return DType::F16; }
#elif defined(__FLT16_MANT_DIG__) // of the compiler; std::float16_t is the same
template <> constexpr DType dtype_of<_Float16>() { return DType::F16; }
#endif

template <class T>
concept Element = requires { dtype_of<std::remove_const_t<T>>(); };

} // namespace broadloom
