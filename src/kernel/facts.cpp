// See facts.hpp.
#include "kernel/facts.hpp"

#include "checked/agreement.hpp"
#include "kernel/check.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

namespace broadloom::kernel {
namespace {

// Numbers that have the signs of elements. f16 and bf16 lie in the order of their bits: beyond
// `infinity` are NaNs.
template <class T> T number(T value) { return value; }
template <std::int16_t infinity> struct Narrow {
  std::int16_t bits;
};
template <std::int16_t infinity> float number(Narrow<infinity> value) {
  const int size = value.bits & 0x7fff;
  if (size > infinity) return std::numeric_limits<float>::quiet_NaN();
  return float(value.bits < 0 ? -size : size);
}
// Of a complex number only whether it is 0 can be said.
template <class T> T number(std::complex<T> value) {
  if (value.real() != value.real() || value.imag() != value.imag())
    return std::numeric_limits<T>::quiet_NaN();
  return T(value != T(0));
}

// `step` in bytes.
template <class T, class Holds>
bool all_hold(const char *row, std::int64_t count, std::int64_t step, Holds holds) {
  // As wide as the numbers, so that lanes of a vector hold as many of the one as of the other.
  using Number = decltype(number(T()));
  using Wrong = std::conditional_t<sizeof(Number) == 8, std::int64_t,
                                   std::conditional_t<sizeof(Number) == 4, std::int32_t, char>>;
  Wrong wrong = 0;
  const auto look = [&](std::int64_t each) {
    for (std::int64_t k = 0; k < count; ++k) {
      T value;
      std::memcpy(&value, row + k * each, sizeof value);
      wrong |= holds(number(value)) ? 0 : 1;
    }
  };
  step == sizeof(T) ? look(sizeof(T)) : look(step);
  return wrong == 0;
}

template <class T>
bool hold_in_row(Sign fact, const char *row, std::int64_t count, std::int64_t step) {
  using Number = decltype(number(T()));
  constexpr Number zero = 0;
  const auto all = [&](auto holds) { return all_hold<T>(row, count, step, holds); };
  switch (fact) {
  case Sign::any: return true;
  case Sign::positive: return all([](Number x) { return x > zero; });
  case Sign::nonnegative: return all([](Number x) { return x >= zero; });
  case Sign::negative: return all([](Number x) { return x < zero; });
  case Sign::nonpositive: return all([](Number x) { return x <= zero; });
  case Sign::nonzero: return all([](Number x) { return (x < zero) | (x > zero); });
  }
  return false;
}

using InRow = bool (*)(Sign fact, const char *row, std::int64_t count, std::int64_t step);

InRow hold_in_row_of(DType dtype) {
  switch (dtype) {
  case DType::Bool:
  case DType::U8: return hold_in_row<std::uint8_t>;
  case DType::I8: return hold_in_row<std::int8_t>;
  case DType::I16: return hold_in_row<std::int16_t>;
  case DType::I32: return hold_in_row<std::int32_t>;
  case DType::I64: return hold_in_row<std::int64_t>;
  case DType::U16: return hold_in_row<std::uint16_t>;
  case DType::U32: return hold_in_row<std::uint32_t>;
  case DType::U64: return hold_in_row<std::uint64_t>;
  case DType::F32: return hold_in_row<float>;
  case DType::F64: return hold_in_row<double>;
  case DType::F16: return hold_in_row<Narrow<0x7c00>>;
  case DType::BF16: return hold_in_row<Narrow<0x7f80>>;
  case DType::C64: return hold_in_row<std::complex<float>>;
  case DType::C128: return hold_in_row<std::complex<double>>;
  }
  return nullptr;
}

// Row after row, in the order of memory; dims that lie behind each other are one.
bool hold_all(Sign fact, const AnyView &view) {
  struct Dim {
    std::int64_t extent, step; // in bytes
  };
  Dim dims[max_rank], row{1, std::int64_t(size_of(view.dtype))};
  int count = 0;
  for (int d = 0; d < view.layout.rank; ++d) {
    if (view.layout.extents[d] == 0) return true;
    if (view.layout.extents[d] > 1 && view.layout.strides[d] != 0)
      dims[count++] = {view.layout.extents[d], view.layout.strides[d] * row.step};
  }
  std::sort(dims, dims + count,
            [](const Dim &a, const Dim &b) { return std::abs(a.step) > std::abs(b.step); });
  if (count > 0) row = dims[--count];
  while (count > 0 && dims[count - 1].step == row.step * row.extent)
    row.extent *= dims[--count].extent;
  const InRow hold = hold_in_row_of(view.dtype);
  const char *at = static_cast<const char *>(view.data);
  std::int64_t index[max_rank] = {};
  while (true) {
    if (!hold(fact, at, row.extent, row.step)) return false;
    int d = count - 1;
    for (; d >= 0; --d) {
      at += dims[d].step;
      if (++index[d] < dims[d].extent) break;
      at -= dims[d].step * dims[d].extent;
      index[d] = 0;
    }
    if (d < 0) return true;
  }
}

} // namespace

std::vector<std::size_t> inputs_with_facts(const spec::TypedSpec &spec) {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < spec.callers_inputs(); ++i)
    if (spec.inputs[i].sign != Sign::any) inputs.push_back(i);
  return inputs;
}

void check_fact(const spec::TypedInput &input, const AnyView &view) {
  const support::FloatControl control; // a subnormal is not 0
  if (hold_all(input.sign, view)) return;
  const auto holds = [&, hold = hold_in_row_of(view.dtype)](Sign fact, const char *element) {
    return hold(fact, element, 1, 0);
  };
  std::int64_t at = 0;
  while (holds(input.sign, checked::element_at(view, at))) ++at;
  const char *element = checked::element_at(view, at);
  const bool is_nan = !holds(Sign::negative, element) && !holds(Sign::nonnegative, element);
  support::fail(
      "E0313",
      fmt::format("parameter '{}' is declared {}, and {} {}{}", input.name, relation(input.sign),
                  view.layout.rank == 0
                      ? "it is"
                      : "its element at " +
                            checked::position_text(checked::indices_of(view.layout, at)) + " is",
                  checked::value_text(element, view.dtype), is_nan ? ", which has no sign" : ""),
      input.where,
      fmt::format("give it elements that are all {}, or leave that out of the declaration",
                  relation(input.sign)));
}

void check_facts(const spec::TypedSpec &spec, const std::vector<std::size_t> &inputs,
                 Operands call) {
  check_operands(spec, call.first(spec.callers_inputs()));
  for (const std::size_t i : inputs) {
    check_pointer(spec, i, *call[i]);
    check_fact(spec.inputs[i], *call[i]);
  }
}

} // namespace broadloom::kernel
