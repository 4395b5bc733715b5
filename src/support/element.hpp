// From a DType to a C++ type: `with_type(dtype, [](auto zero) { .. })` calls with a value of it.
#pragma once

#include "support/check.hpp"

#include <broadloom/dtype.hpp>
#include <broadloom/float16.hpp>

#include <complex>
#include <type_traits>

namespace broadloom::support {

template <class T>
inline constexpr bool is_narrow = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

template <class T>
inline constexpr bool is_complex_type =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class Visit> auto with_type(DType dtype, Visit visit) {
  switch (dtype) {
  case DType::Bool: return visit(bool{});
  case DType::I8: return visit(std::int8_t{});
  case DType::I16: return visit(std::int16_t{});
  case DType::I32: return visit(std::int32_t{});
  case DType::I64: return visit(std::int64_t{});
  case DType::U8: return visit(std::uint8_t{});
  case DType::U16: return visit(std::uint16_t{});
  case DType::U32: return visit(std::uint32_t{});
  case DType::U64: return visit(std::uint64_t{});
  case DType::F32: return visit(float{});
  case DType::F64: return visit(double{});
  case DType::F16: return visit(float16{});
  case DType::BF16: return visit(bfloat16{});
  case DType::C64: return visit(std::complex<float>{});
  case DType::C128: return visit(std::complex<double>{});
  }
  bug("with_type: unknown dtype");
}

} // namespace broadloom::support
