// BROADLOOM_VERIFY=1: each call runs natively and in the interpreter, on memory of its own for either, and the two must agree.
//
// The memory holds a pattern before, so that an element that native code leaves out shows, as does a store between the
// elements; `+=` shows what is stored twice. Only then the outputs are written.
#include "jit/kernel.hpp"

#include "array/copy.hpp"
#include "ops/ops.hpp"
#include "support/check.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace broadloom {
namespace {

constexpr char unwritten = 0x5A;

// An output's bytes, with its gaps.
class Copy {
public:
  Copy(const AnyView &view, jit::Reach reach, bool add)
      : view_(view), low_(reach.low), bytes_(std::size_t(reach.high - reach.low), unwritten) {
    view_.data = bytes_.data() - low_;
    if (add) array::copy_elements(view, view_.data, view.layout);
  }
  const AnyView &view() const { return view_; }
  std::vector<char> &bytes() { return bytes_; }

private:
  AnyView view_;
  std::int64_t low_;
  std::vector<char> bytes_;
};

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
std::int64_t first_difference(Copy &ours, Copy &told) {
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

bool only_pattern(const std::vector<char> &bytes) {
  for (const char byte : bytes)
    if (byte != unwritten) return false;
  return true;
}

} // namespace

void KernelImpl::execute_twice(const jit::Bound &bound, jit::Operands operands) const {
  const std::size_t inputs = bound.input_count;
  std::vector<Copy> ours, told;
  std::vector<std::size_t> outputs; // those that are wanted
  for (std::size_t k = inputs; k < operands.size(); ++k) {
    if (operands[k] == nullptr) continue;
    outputs.push_back(k - inputs);
    for (std::vector<Copy> *copies : {&ours, &told})
      copies->emplace_back(*operands[k], bound.operands[k].reach, typed_.outputs[k - inputs].add);
  }
  const auto with = [&](std::vector<Copy> &copies) {
    std::vector<void *> addresses;
    for (const AnyView *view : operands)
      addresses.push_back(view == nullptr ? nullptr : view->data);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      addresses[inputs + outputs[k]] = copies[k].view().data;
    return addresses;
  };
  invoke(bound, with(ours).data(), false);
  invoke(bound, with(told).data(), true);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const AnyView &output = *operands[inputs + outputs[k]];
    std::vector<char> result = ours[k].bytes();
    const std::string &name = typed_.outputs[outputs[k]].name;
    const std::string ir = loop::print(bound.pattern->program);
    if (const std::int64_t at = first_difference(ours[k], told[k]); at >= 0)
      support::bug(fmt::format("native code and the interpreter differ in output '{}', element {} "
                               "in C order",
                               name, at),
                   ir);
    if (!only_pattern(ours[k].bytes()) || !only_pattern(told[k].bytes()))
      support::bug("a store between the elements of output '" + name + "'", ir);
    const AnyView from{output.dtype, result.data() - bound.operands[inputs + outputs[k]].reach.low,
                       false, output.layout};
    array::copy_elements(from, output.data, output.layout);
  }
}

} // namespace broadloom
