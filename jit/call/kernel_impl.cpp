// What a KernelImpl is made of, and what it says without a call: the layouts of outputs, counters.
#include "jit/call/kernel.hpp"

#include "array/layout.hpp"
#include "jit/gpu/steps.hpp"
#include "kernel/layouts.hpp"
#include "support/float_control.hpp"

namespace broadloom {

using kernel::pointers_to;

KernelImpl::KernelImpl(const LoopSpec &spec, spec::TypedSpec typed, const Options &options,
                       std::optional<jit::Target> target, Profile profile, int threads, double ms,
                       std::shared_ptr<jit::BuiltCode> built,
                       std::shared_ptr<jit::gpu::Device> device)
    : setup_(spec, std::move(typed), options, std::move(target), profile, threads, std::move(built),
             std::move(device)),
      subs_(*this), executor_(setup_), patterns_(setup_, ms) {}

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
  const spec::TypedSpec &typed = setup_.typed;
  kernel::Layouts layouts = allocated_layouts(operands);
  for (Layout &layout : layouts.outputs) {
    if (store == Order::c) layout = contiguous_layout(layout.shape());
    if (store == Order::f) layout = array::fortran_layout(layout.shape());
  }
  std::vector<std::pair<std::string, Array>> arrays;
  for (std::size_t o = 0; o < typed.outputs.size(); ++o)
    arrays.emplace_back(typed.outputs[o].name, output_memory(setup_, o, layouts.outputs[o]));
  for (const auto &[name, array] : arrays) operands.push_back(array);
  run(pointers_to(operands));
  return Results(std::move(arrays));
}

kernel::Layouts KernelImpl::allocated_layouts(std::span<const AnyView> inputs) const {
  const spec::TypedSpec &typed = setup_.typed;
  const support::FloatWorld world;
  const jit::Lets &lets = subs_.lets();
  kernel::check_input_count(typed, inputs.size());
  if (const spec::TypedInput *shape = typed.lent_input()) kernel::fail_lent(typed, *shape);
  if (lets.empty() && !setup_.has_lent) return layouts_of_given(inputs);
  kernel::check_operands(typed, pointers_to(inputs));
  std::vector<AnyView> views, given;
  if (!lets.empty()) views = lets.views(*lets.layouts(pointers_to(inputs)), nullptr);
  const kernel::LentOperands lent(typed, lets.operands_of_rest(pointers_to(inputs), views, {}));
  for (const AnyView *view : lent.all()) given.push_back(*view);
  return layouts_of_given(given);
}

// The outputs have no memory yet: a layout for each.
kernel::Layouts KernelImpl::layouts_of_given(std::span<const AnyView> inputs) const {
  const spec::TypedSpec &typed = setup_.typed;
  kernel::check_operands(typed, pointers_to(inputs));
  kernel::Layouts layouts;
  for (const AnyView &view : inputs) layouts.inputs.push_back(view.layout);
  layouts.lies = kernel::add_windows(typed, layouts.inputs);
  for (std::size_t i = 0; i < layouts.inputs.size(); ++i)
    kernel::take_one_position(typed, i, layouts.inputs[i]);
  // Shapes only: whether each fold has a value is asked when the outputs are computed.
  const std::vector<bool> none(typed.outputs.size(), false);
  const plan::Resolved resolved = plan::resolve(typed, layouts.inputs, none);
  for (std::size_t o = 0; o < typed.outputs.size(); ++o)
    layouts.outputs.push_back(kernel::output_layout(typed, o, setup_.reads[o],
                                                    resolved.output_shapes[o], layouts.inputs));
  layouts.wanted.assign(typed.outputs.size(), true);
  return layouts;
}

namespace {

void add(Counters &sum, const Counters &more) {
  sum.compiles += more.compiles;
  sum.loaded += more.loaded;
  sum.patterns += more.patterns;
  sum.interpreted += more.interpreted;
  sum.compile_ms += more.compile_ms;
  using Step = double CompileSteps::*;
  for (const Step step :
       {&CompileSteps::analyse, &CompileSteps::plan, &CompileSteps::block, &CompileSteps::load,
        &CompileSteps::start, &CompileSteps::emit, &CompileSteps::math, &CompileSteps::optimise,
        &CompileSteps::select, &CompileSteps::link})
    sum.steps.*step += more.steps.*step;
}

} // namespace

Counters KernelImpl::counters() const {
  Counters counters = patterns_.counters();
  counters.interpreted = executor_.interpreted();
  for (const KernelImpl *kernel : subs_.all()) add(counters, kernel->counters());
  return counters;
}

} // namespace broadloom
