// A call that Options::debug has checked.
#pragma once

#include "kernel/operands.hpp"

#include <broadloom/kernel.hpp>

namespace broadloom::jit {

// Sees the lets of a call that are arrays, each once it is there, and rows of those that go step by
// step before the next step reads them.
class LetWatch {
public:
  virtual void look_at_let(std::size_t k, std::span<const AnyView> lets) const = 0;
  virtual void look_at_step(std::size_t k, std::int64_t step, const AnyView &row,
                            std::span<const AnyView> lets) const = 0;

protected:
  ~LetWatch() = default;
};

// As KernelImpl::run_unchecked, but nothing is written before all is known to be right.
void run_checked(const detail::KernelImpl &kernel, kernel::Operands call);

} // namespace broadloom::jit
