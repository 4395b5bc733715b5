// See operand_copy.hpp.
#include "kernel/operand_copy.hpp"

#include "array/copy.hpp"

#include <algorithm>

namespace broadloom::kernel {

OperandCopy::OperandCopy(const AnyView &operand, Reach reach, Memory memory)
    : operand_(operand), view_(operand) {
  const std::int64_t size = reach.high - reach.low;
  if (memory == Memory::Plain) {
    memory_ = Array(DType::U8, {size});
  } else {
    guarded_ = std::make_shared<support::Guarded>(std::size_t(size), true);
    std::ranges::fill(guarded_->slack(), static_cast<unsigned char>(pattern));
    memory_ = Array(guarded_, DType::U8, guarded_->data(), contiguous_layout({&size, 1}));
  }
  view_.data = static_cast<char *>(memory_.raw()) - reach.low;
}

void OperandCopy::load() const { array::copy_elements(operand_, view_.data, view_.layout); }

void OperandCopy::store() const { array::copy_elements(view_, operand_.data, operand_.layout); }

std::span<char> OperandCopy::bytes() const {
  return {static_cast<char *>(memory_.raw()), std::size_t(memory_.size())};
}

void OperandCopy::forbid_writes() const {
  if (guarded_) guarded_->forbid_writes();
}

bool OperandCopy::is_touched_before() const {
  return guarded_ && std::ranges::any_of(guarded_->slack(), [](unsigned char byte) {
           return byte != static_cast<unsigned char>(pattern);
         });
}

std::vector<void *> addresses_of(Operands operands) {
  std::vector<void *> addresses;
  for (const AnyView *view : operands) addresses.push_back(view == nullptr ? nullptr : view->data);
  return addresses;
}

} // namespace broadloom::kernel
