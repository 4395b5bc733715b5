// BROADLOOM_VERIFY=1: each call runs natively and in the interpreter, on memory of its own for either, and the two must agree.
//
// The memory holds a pattern before, so that an element that native code leaves out shows, as does a store between the
// elements; `+=` shows what is stored twice. Only then the outputs are written.
#include "jit/kernel.hpp"

#include "kernel/operand_copy.hpp"
#include "ops/ops.hpp"
#include "support/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

namespace broadloom {
namespace {

using kernel::OperandCopy;

constexpr char unwritten = 0x5A;

// An output's memory, which holds the pattern, or what `+=` adds to.
OperandCopy prepared(const AnyView &view, kernel::Reach reach, bool add) {
  OperandCopy copy(view, reach);
  std::ranges::fill(copy.bytes(), unwritten);
  if (add) copy.load();
  return copy;
}

// Equal bits, all NaNs being equal.
bool same(const char *a, const char *b, DType dtype) {
  const std::size_t size = size_of(dtype);
  if (std::memcmp(a, b, size) == 0) return true;
  if (!is_float(dtype) && !is_complex(dtype)) return false;
  const DType real = real_dtype(dtype);
  const auto is_nan = [&](const char *part) {
    return std::isnan(ops::as_f64(ops::convert(ops::load(part, real), real, DType::F64)));
  };
  for (std::size_t k = 0; k < size; k += size_of(real))
    if (std::memcmp(a + k, b + k, size_of(real)) != 0 && !(is_nan(a + k) && is_nan(b + k)))
      return false;
  return true;
}

// The first element, in C order, in which the two differ, or -1. What is compared is set to `unwritten` in both.
std::int64_t first_difference(const OperandCopy &ours, const OperandCopy &told) {
  const Layout &layout = ours.view().layout;
  const std::size_t size = size_of(ours.view().dtype);
  std::int64_t found = -1;
  for (std::int64_t k = 0; k < element_count(layout); ++k) {
    std::int64_t offset = 0, rest = k;
    for (int d = layout.rank; d-- > 0;) {
      const auto dim = std::size_t(d);
      offset += rest % layout.extents[dim] * layout.strides[dim];
      rest /= layout.extents[dim];
    }
    char *a = static_cast<char *>(ours.view().data) + offset * std::int64_t(size);
    char *b = static_cast<char *>(told.view().data) + offset * std::int64_t(size);
    if (found < 0 && !same(a, b, ours.view().dtype)) found = k;
    std::memset(a, unwritten, size);
    std::memset(b, unwritten, size);
  }
  return found;
}

bool only_pattern(std::span<const char> bytes) {
  return std::ranges::all_of(bytes, [](char byte) { return byte == unwritten; });
}

} // namespace

void KernelImpl::execute_twice(const jit::Specialisation &special,
                               kernel::Operands operands) const {
  const std::size_t inputs = special.input_count;
  std::vector<OperandCopy> ours, told;
  std::vector<std::size_t> outputs; // those that are wanted
  for (std::size_t k = inputs; k < operands.size(); ++k) {
    if (operands[k] == nullptr) continue;
    outputs.push_back(k - inputs);
    for (std::vector<OperandCopy> *copies : {&ours, &told})
      copies->push_back(
          prepared(*operands[k], special.operands[k].reach, typed_.outputs[k - inputs].add));
  }
  const auto with = [&](const std::vector<OperandCopy> &copies) {
    std::vector<void *> addresses = kernel::addresses_of(operands);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      addresses[inputs + outputs[k]] = copies[k].view().data;
    return addresses;
  };
  invoke(special, with(ours).data(), false);
  invoke(special, with(told).data(), true);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::vector<char> result(ours[k].bytes().begin(), ours[k].bytes().end());
    const std::string &name = typed_.outputs[outputs[k]].name;
    const std::string ir = loop::print(special.pattern->program);
    if (const std::int64_t at = first_difference(ours[k], told[k]); at >= 0)
      support::bug(fmt::format("native code and the interpreter differ in output '{}', element {} "
                               "in C order",
                               name, at),
                   ir);
    if (!only_pattern(ours[k].bytes()) || !only_pattern(told[k].bytes()))
      support::bug("a store between the elements of output '" + name + "'", ir);
    std::ranges::copy(result, ours[k].bytes().begin());
    ours[k].store();
  }
}

} // namespace broadloom
