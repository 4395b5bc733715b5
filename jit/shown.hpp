// Inside the texts of stages: what they show.
#pragma once

#include "jit/kernel.hpp"

namespace broadloom {

// Program and numbers to print, from a Specialisation or from a plan made for the purpose.
struct KernelImpl::Shown {
  std::shared_ptr<const jit::Specialisation> special; // null before the first call
  kernel::Layouts layouts;
  std::shared_ptr<const jit::Pattern> pattern; // null before `find_engine`
  Engine engine = Engine::jit; // from `find_engine` on; Reference: there is no program
  std::string failure;         // of ours, which left a plan for one thread, or none
  int threads = 1;             // that the plan is for
  loop::Program program;
  plan::Binding binding;
  std::vector<Decision> why;
};

} // namespace broadloom
