// See kernel.hpp: calls that are planned, those that allocate their outputs, counters.
#include "jit/call/kernel.hpp"

#include "array/layout.hpp"
#include "jit/call/run_call.hpp"
#include "jit/gpu/steps.hpp"
#include "kernel/layouts.hpp"
#include "support/float_control.hpp"

namespace broadloom {

using kernel::pointers_to;

// Memory of an output: zeros where a call adds to it.
static Array output_memory(const jit::Setup &setup, std::size_t o, const Layout &layout) {
  const spec::TypedOutput &output = setup.typed.outputs[o];
  if (!setup.device) return kernel::allocate(output, layout);
  Array array = setup.array_of(output.dtype, layout);
  alignas(16) constexpr char zero[16] = {};
  if (output.add)
    jit::gpu::Steps(*setup.device).fill(output.dtype, zero, array.raw(), array.layout());
  return array;
}

Results KernelImpl::call(std::vector<AnyView> operands, Order store) const {
  const spec::TypedSpec &typed = this->typed();
  kernel::Layouts layouts = allocated_layouts(operands);
  for (Layout &layout : layouts.outputs) {
    if (store == Order::c) layout = contiguous_layout(layout.shape());
    if (store == Order::f) layout = array::fortran_layout(layout.shape());
  }
  std::vector<std::pair<std::string, Array>> arrays;
  for (std::size_t o = 0; o < typed.outputs.size(); ++o)
    arrays.emplace_back(typed.outputs[o].name, output_memory(setup(), o, layouts.outputs[o]));
  for (const auto &[name, array] : arrays) operands.push_back(array);
  run(pointers_to(operands));
  return Results(std::move(arrays));
}

kernel::Layouts KernelImpl::allocated_layouts(std::span<const AnyView> inputs) const {
  const support::FloatWorld world;
  const auto &[rest, lets] = nests_;
  const std::vector<const AnyView *> given = pointers_to(inputs);
  kernel::check_input_count(typed(), inputs.size());
  if (lets.empty()) return rest.allocated_layouts(given);
  if (const spec::TypedInput *shape = typed().lent_input()) kernel::fail_lent(typed(), *shape);
  kernel::check_operands(typed(), given);
  const std::vector<AnyView> views = lets.views(*lets.layouts(given), nullptr);
  return rest.allocated_layouts(lets.operands_of_rest(given, views, {}));
}

// Mistakes in shapes come before those in data, which may come of them: they are found where a call
// is planned.
void KernelImpl::run_unchecked(kernel::Operands call, const jit::LetWatch &watch) const {
  const std::shared_ptr<const jit::CallPlan> plan = plans_.of(nests_, call);
  if (setup().device) nests_.rest.executor().check_on_device(call);
  setup().check_facts(call);
  jit::run_call(nests_, *plan, call, watch);
}

Counters KernelImpl::counters() const {
  Counters counters = nests_.rest.counters();
  for (const auto &let : nests_.lets.nests())
    if (let) jit::add(counters, let->counters());
  return counters;
}

} // namespace broadloom
