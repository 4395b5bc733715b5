// Memory of the caller for the time of calls, where a program may not ask the system for any.
//
//   const std::size_t bytes = bl::workspace(kernel, inputs, outputs);     // once for these layouts
//   std::vector<std::byte> memory(bytes);
//   const bl::Arena arena(memory.data(), memory.size());                  // calls of this thread
//   kernel.run(inputs, outputs);
#pragma once

#include <broadloom/kernel.hpp>

#include <cstddef>
#include <memory>
#include <source_location>
#include <span>

namespace broadloom {

// The bytes of an arena that a call of these arrays takes: arrays of lets, copies with borders,
// partial results of folds, rows of threads. Wherever the arena begins, they are enough. Nothing is
// computed, and the data may be null. Code is made, as by Kernel::prepare. Throws what a call does
// for their layouts.
std::size_t workspace(const Kernel &kernel, std::span<const AnyView> inputs,
                      std::span<const AnyView> outputs,
                      std::source_location line = std::source_location::current());
std::size_t workspace_named(const Kernel &kernel, std::span<const NamedView> inputs,
                            std::span<const NamedView> outputs,
                            std::source_location line = std::source_location::current());

// While it lives, calls of this thread take what they need for their time from this memory, and no
// longer than they run. Too little is DataError E0323, before anything is written. Some calls have
// memory of their own yet. Kernels that are interpreted, checked or run on a device have it for
// copies of arrays. So have inputs that meet an output in another way than element by element.
// Bound calls have it from when they are made.
class Arena {
public:
  Arena(void *memory, std::size_t bytes);
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace broadloom
