// See operand_copy.hpp.
#include "kernel/operand_copy.hpp"

#include "array/copy.hpp"

namespace broadloom::kernel {

OperandCopy::OperandCopy(const AnyView &operand, Reach reach)
    : operand_(operand), view_(operand), memory_(DType::U8, {reach.high - reach.low}) {
  view_.data = static_cast<char *>(memory_.raw()) - reach.low;
}

void OperandCopy::load() const { array::copy_elements(operand_, view_.data, view_.layout); }

void OperandCopy::store() const { array::copy_elements(view_, operand_.data, operand_.layout); }

std::span<char> OperandCopy::bytes() const {
  return {static_cast<char *>(memory_.raw()), std::size_t(memory_.size())};
}

std::vector<void *> addresses_of(Operands operands) {
  std::vector<void *> addresses;
  for (const AnyView *view : operands) addresses.push_back(view == nullptr ? nullptr : view->data);
  return addresses;
}

} // namespace broadloom::kernel
