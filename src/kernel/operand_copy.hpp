// Memory of an operand's own, with its strides and gaps: what runs on the copy runs by the same plan, and gives the same bits.
#pragma once

#include "kernel/operands.hpp"
#include "kernel/overlap.hpp"

#include <broadloom/array.hpp>

#include <span>
#include <vector>

namespace broadloom::kernel {

class OperandCopy {
public:
  // Its elements are those of the operand only after `load`.
  OperandCopy(const AnyView &operand, Reach reach);

  void load() const;  // from the operand
  void store() const; // to the operand
  const AnyView &view() const { return view_; }
  std::span<char> bytes() const; // with the gaps

private:
  AnyView operand_, view_;
  Array memory_;
};

// Of all operands; null for outputs that are not wanted.
std::vector<void *> addresses_of(Operands operands);

} // namespace broadloom::kernel
