// Inside the texts of stages: what they show.
#pragma once

#include "jit/kernel.hpp"

namespace broadloom::jit {

// Program and numbers to print, from a Specialisation or from a plan made for the purpose.
struct Shown {
  std::shared_ptr<const Specialisation> special; // null before the first call
  kernel::Layouts layouts;
  std::shared_ptr<const Pattern> pattern; // null before `find_engine`
  Engine engine = Engine::jit;            // from `find_engine` on; reference: there is no program
  std::string failure;                    // of ours, which left a plan for one thread, or none
  int threads = 1;                        // that the plan is for
  loop::Program program;
  plan::Binding binding;
  std::vector<Decision> why;
};

// What the latest call or `prepare` ran; before any, what C-contiguous inputs of typical extents would
// give. Which engine that is shows only when the code is made, so then it is.
Shown what_to_show(const KernelImpl &kernel);
kernel::Layouts layouts_to_show(const KernelImpl &kernel);
void find_engine(const KernelImpl &kernel, Shown &shown);
Engine engine_used(const KernelImpl &kernel);

// The same where there is a program, and one whose calls run as native code. Both throw E0501.
Shown program_to_show(const KernelImpl &kernel);
Shown native_to_show(const KernelImpl &kernel);

} // namespace broadloom::jit
