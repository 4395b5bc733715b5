// See facts.hpp.
#include "kernel/facts.hpp"

#include "check/agreement.hpp"
#include "kernel/check.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace broadloom::kernel {
namespace {

// Which there are among some elements.
struct Signs {
  bool negative = false, zero = false, positive = false, nan = false;
};

bool holds(Sign fact, const Signs &seen) {
  if (seen.nan) return fact == Sign::any;
  switch (fact) {
  case Sign::any: return true;
  case Sign::positive: return !seen.negative && !seen.zero;
  case Sign::nonnegative: return !seen.negative;
  case Sign::negative: return !seen.zero && !seen.positive;
  case Sign::nonpositive: return !seen.positive;
  case Sign::nonzero: return !seen.zero;
  }
  return false;
}

template <class T> void note(T value, Signs &seen) {
  seen.negative |= value < T(0);
  seen.zero |= value == T(0);
  seen.positive |= value > T(0);
  seen.nan |= value != value;
}

// f16 and bf16 by their bits, whose order without the sign is that of the numbers: beyond `infinity` lie NaNs.
template <std::int16_t infinity> struct Narrow {
  std::int16_t bits;
};
template <std::int16_t infinity> void note(Narrow<infinity> value, Signs &seen) {
  const auto size = std::int16_t(value.bits & 0x7fff);
  seen.nan |= size > infinity;
  seen.zero |= size == 0;
  seen.negative |= value.bits < 0 && size != 0;
  seen.positive |= value.bits > 0;
}

// Of a complex number only whether it is 0 can be said.
template <class T> struct Complex {
  T re, im;
};
template <class T> void note(Complex<T> value, Signs &seen) {
  seen.nan |= value.re != value.re || value.im != value.im;
  seen.zero |= value.re == 0 && value.im == 0;
}

// `step` in bytes.
template <class T> Signs signs_of_row(const char *row, std::int64_t count, std::int64_t step) {
  Signs seen;
  const auto look = [&](std::int64_t each) {
    for (std::int64_t k = 0; k < count; ++k) {
      T value;
      std::memcpy(&value, row + k * each, sizeof value);
      note(value, seen);
    }
  };
  step == sizeof(T) ? look(sizeof(T)) : look(step);
  return seen;
}

using OfRow = Signs (*)(const char *row, std::int64_t count, std::int64_t step);

OfRow signs_of(DType dtype) {
  switch (dtype) {
  case DType::Bool:
  case DType::U8: return signs_of_row<std::uint8_t>;
  case DType::I8: return signs_of_row<std::int8_t>;
  case DType::I16: return signs_of_row<std::int16_t>;
  case DType::I32: return signs_of_row<std::int32_t>;
  case DType::I64: return signs_of_row<std::int64_t>;
  case DType::U16: return signs_of_row<std::uint16_t>;
  case DType::U32: return signs_of_row<std::uint32_t>;
  case DType::U64: return signs_of_row<std::uint64_t>;
  case DType::F32: return signs_of_row<float>;
  case DType::F64: return signs_of_row<double>;
  case DType::F16: return signs_of_row<Narrow<0x7c00>>;
  case DType::BF16: return signs_of_row<Narrow<0x7f80>>;
  case DType::C64: return signs_of_row<Complex<float>>;
  case DType::C128: return signs_of_row<Complex<double>>;
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
  const OfRow look = signs_of(view.dtype);
  const char *at = static_cast<const char *>(view.data);
  std::int64_t index[max_rank] = {};
  while (true) {
    if (!holds(fact, look(at, row.extent, row.step))) return false;
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
  const OfRow look = signs_of(view.dtype);
  std::int64_t at = 0;
  while (holds(input.sign, look(checked::element_at(view, at), 1, 0))) ++at;
  const char *element = checked::element_at(view, at);
  const bool is_nan = look(element, 1, 0).nan;
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
