// Inside all that a kernel tells: what its latest call ran; before any, what C-contiguous inputs of
// typical extents would give.
#pragma once

#include "jit/call/kernel.hpp"

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

// Of a call or `prepare`. Which engine that is shows only when the code is made, so then it is.
Shown what_to_show(const Nest &nest);
kernel::Layouts layouts_to_show(const Nest &nest);
std::shared_ptr<const CallPlan> plan_to_show(const KernelImpl &kernel);
void find_engine(const Nest &nest, Shown &shown);
Engine engine_used(const Nest &nest);

// The same where there is a program, and one whose calls run as native code. Both throw E0501.
Shown program_to_show(const Nest &nest);
Shown native_to_show(const Nest &nest);
[[noreturn]] void fail_without_code(const Nest &nest, Engine engine, const std::string &why);

// C-contiguous, of typical extents, without memory.
std::vector<AnyView> typical_views(const spec::TypedSpec &typed);
// All operands of a call with these inputs, without memory for the outputs.
std::vector<AnyView> with_outputs(const Nest &nest, kernel::Operands given);
// Whether no loop ran, or would run, as a gather was all of the output.
bool fills_output(const Nest &nest);
// What computed the parts of a run: the nest, and of each group the interior or the last part.
std::vector<const Nest *> latest_nests(const Nest &nest);

} // namespace broadloom::jit
