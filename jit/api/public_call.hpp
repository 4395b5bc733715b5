// What the functions of a Kernel share: their arguments in order, and what an error says of the
// call.
#pragma once

#include "jit/call/frozen.hpp"
#include "jit/call/kernel.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

namespace broadloom {

// Inside a handler, of what a call of the kernel has thrown.
[[noreturn]] inline void rethrow(const KernelImpl *kernel, const std::source_location &line) try {
  throw;
} catch (Error &error) {
  if (kernel) error.note_call(kernel->typed().name, place_of(line));
  throw;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

// The inputs in declared order, those that are built in too.
inline std::vector<AnyView> in_order(const KernelImpl &kernel, const FrozenParameters *frozen,
                                     std::span<const NamedView> inputs) {
  std::vector<NamedView> all;
  if (frozen != nullptr) inputs = all = frozen->all(inputs);
  const std::vector<const AnyView *> operands =
      kernel::by_name(kernel.typed(), kernel.setup().names, inputs, {});
  std::vector<AnyView> views;
  for (std::size_t i = 0; i < kernel.typed().callers_inputs(); ++i) views.push_back(*operands[i]);
  return views;
}

} // namespace broadloom
