// Runs what a call of known layouts comes to: the phases of its Specialisation, natively or in the
// interpreter, or the reference in place of all.
//
// Inputs that share memory with an output behave as if they had been copied beforehand. Where the
// program reads each position before it writes it, and both are the very same elements, that holds
// by itself; else the input is copied. The copy has the strides of the original, so that it runs by
// the same plan and gives the same bits.
#pragma once

#include "jit/nest/setup.hpp"
#include "jit/nest/specialisation.hpp"

namespace broadloom::jit {

// Operands are those of a call with its windows behind the inputs.
class Executor {
public:
  explicit Executor(const Setup &setup) : setup_(setup) {}

  // Looks at pointers only.
  void execute(const Specialisation &special, kernel::Operands operands) const;
  void run_phases(const Specialisation &special, char *const *buffers,
                  bool interpreted = false) const;
  // A box of the parallel axes of a phase, on the calling thread.
  void run_box(const Specialisation &special, std::size_t phase, char *const *buffers,
               const std::int64_t *lo, const std::int64_t *hi) const;
  // For calls on the same memory again and again: the buffers of the frame, if the phases are all
  // that such a call has to run; else empty.
  std::vector<char *> ready_buffers(const Specialisation &special, kernel::Operands operands) const;
  void run_reference(kernel::Operands operands) const;
  // Before the host does a step of a call for a device. Throws DataError E0322.
  void check_on_device(kernel::Operands call) const;

  std::int64_t interpreted() const { return interpreted_.load(std::memory_order_relaxed); }

private:
  [[noreturn]] void fail_elsewhere(bool is_input, const std::string &name) const;
  std::vector<std::shared_ptr<void>>
  take_to_device(const Specialisation &special, kernel::Operands operands, void **addresses) const;
  void *copy_on_device(const AnyView &view, kernel::Reach reach,
                       std::vector<std::shared_ptr<void>> &copies) const;
  void launch_phases(const Specialisation &special, const loop::Frame &frame) const;
  void execute_on_copies(const Specialisation &special, kernel::Operands operands,
                         void *const *given) const;
  void execute_twice(const Specialisation &special, kernel::Operands operands) const; // twice.cpp
  void interpret_or_refer(const Specialisation &special, kernel::Operands operands) const;
  void invoke(const Specialisation &special, void *const *addresses, bool interpreted) const;
  void interpret(const Specialisation &special, const loop::Frame &frame) const;

  const Setup &setup_;
  mutable std::atomic<std::int64_t> interpreted_{0}; // calls, so far
};

} // namespace broadloom::jit
