// What the golden tests of plans share: the plan of a kernel for the layouts in its text, on a
// given machine.
#pragma once

#include "golden_files.hpp"

#include "jit/native/target.hpp"
#include "kernel/layouts.hpp"
#include "kernel/windows.hpp"
#include "plan/plan.hpp"
#include "spec/spec.hpp"

namespace broadloom::golden {

inline jit::Target target_of(int bits) {
  return {jit::find_isa(bits == 512 ? "x86-64-v4" : "x86-64-v3"), "", true};
}

// With vectors of so many bits.
inline plan::Machine machine_of(int bits) {
  plan::Machine machine = jit::machine_of(target_of(bits));
  machine.last_level_cache = 32 << 20;
  machine.threads = 2;
  return machine;
}

// What a call of the kernel with these inputs would run.
inline plan::Plan plan_of(const spec::TypedSpec &typed, const std::string &text,
                          const plan::Machine &machine) {
  const auto given = layouts_in(text);
  std::vector<Layout> inputs, outputs;
  for (const spec::TypedInput &input : typed.given()) inputs.push_back(given.at(input.name));
  const std::vector<Layout> lies = kernel::add_windows(typed, inputs);
  const std::vector<bool> wanted(typed.outputs.size(), true);
  const plan::Resolved resolved = plan::resolve(typed, inputs, wanted);
  const auto reads = kernel::inputs_read(typed);
  for (std::size_t o = 0; o < typed.outputs.size(); ++o)
    outputs.push_back(kernel::output_layout(typed, o, reads[o], resolved.output_shapes[o], inputs));
  return plan::make_plan(typed, resolved, inputs, outputs, wanted, machine, true,
                         plan::Generality::Exact, lies);
}

} // namespace broadloom::golden
