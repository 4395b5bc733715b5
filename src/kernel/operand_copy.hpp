// Memory of an operand's own, with its strides and gaps: what runs on the copy runs by the same
// plan, and gives the same bits.
#pragma once

#include "kernel/operands.hpp"
#include "kernel/overlap.hpp"
#include "support/guarded.hpp"

#include <broadloom/array.hpp>

#include <memory>
#include <span>
#include <vector>

namespace broadloom::kernel {

class OperandCopy {
public:
  // Guarded: it ends at a page that nobody may touch; between it and one before it lies nothing but
  // a pattern.
  enum class Memory : std::uint8_t { Plain, Guarded };
  static constexpr char pattern = 0x5A;

  // Its elements are those of the operand only after `load`.
  OperandCopy(const AnyView &operand, Reach reach, Memory memory = Memory::Plain);

  void load() const;  // from the operand
  void store() const; // to the operand
  const AnyView &view() const { return view_; }
  const AnyView &operand() const { return operand_; }
  std::span<char> bytes() const; // with the gaps
  void forbid_writes() const;    // where it is guarded
  bool is_touched_before()
      const; // whether what lies before it is the pattern no more; false where it is plain

private:
  AnyView operand_, view_;
  std::shared_ptr<support::Guarded> guarded_; // null: plain
  Array memory_;
};

// Of all operands; null for outputs that are not wanted.
std::vector<void *> addresses_of(Operands operands);

} // namespace broadloom::kernel
