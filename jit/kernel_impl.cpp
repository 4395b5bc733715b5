// What a KernelImpl is made of, and what it says without a call: the layouts of outputs, counters.
#include "jit/kernel.hpp"

#include "array/layout.hpp"
#include "jit/environment.hpp"
#include "kernel/layouts.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"

namespace broadloom {

using kernel::pointers_to;

namespace {

// What looks at the steps of a call, to explain them, looks at all arrays as they are.
jit::Lets::Keeps kept_of_loops(const Options &options) {
  if (options.engine == Engine::reference) return jit::Lets::Keeps::All;
  return options.debug == Debug::none ? jit::Lets::Keeps::Checkpoints : jit::Lets::Keeps::LastRows;
}

} // namespace

KernelImpl::KernelImpl(const LoopSpec &spec, spec::TypedSpec typed, const Options &options,
                       std::optional<jit::Target> target, Profile profile, int threads, double ms)
    : setup_(spec, std::move(typed), options, std::move(target), profile, threads),
      lets_(setup_.whole(), kept_of_loops(options),
            jit::number_in("BROADLOOM_LOOP_BYTES", std::int64_t(256) << 20),
            [&](const std::shared_ptr<const spec::Materialised> &let) {
              const std::shared_ptr<const SpecData> data(let, &let->data);
              return std::make_shared<const KernelImpl>(LoopSpec(data), let->typed, options,
                                                        setup_.target, profile, threads, 0);
            }),
      before_(setup_.scatters
                  ? std::make_unique<const KernelImpl>(spec, setup_.scatters->before, options,
                                                       setup_.target, profile, threads, 0)
                  : nullptr),
      patterns_(setup_, ms), part_kernels_(setup_.by_parts.size()) {}

Results KernelImpl::call(std::vector<AnyView> operands, Order store) const {
  kernel::Layouts layouts = allocated_layouts(operands);
  for (Layout &layout : layouts.outputs) {
    if (store == Order::c) layout = contiguous_layout(layout.shape());
    if (store == Order::f) layout = array::fortran_layout(layout.shape());
  }
  std::vector<std::pair<std::string, Array>> arrays;
  for (std::size_t o = 0; o < setup_.typed.outputs.size(); ++o)
    arrays.emplace_back(setup_.typed.outputs[o].name,
                        kernel::allocate(setup_.typed.outputs[o], layouts.outputs[o]));
  for (const auto &[name, array] : arrays) operands.push_back(array);
  run(pointers_to(operands));
  return Results(std::move(arrays));
}

kernel::Layouts KernelImpl::allocated_layouts(std::span<const AnyView> inputs) const {
  const support::FloatWorld world;
  kernel::check_input_count(setup_.typed, inputs.size());
  if (const spec::TypedInput *shape = setup_.typed.lent_input())
    kernel::fail_lent(setup_.typed, *shape);
  if (lets_.empty() && !setup_.has_lent) return layouts_of_given(inputs);
  kernel::check_operands(setup_.typed, pointers_to(inputs));
  std::vector<AnyView> lets, given;
  if (!lets_.empty()) lets = lets_.views(*lets_.layouts(pointers_to(inputs)), nullptr);
  const kernel::LentOperands lent(setup_.typed,
                                  lets_.operands_of_rest(pointers_to(inputs), lets, {}));
  for (const AnyView *view : lent.all()) given.push_back(*view);
  return layouts_of_given(given);
}

// The outputs have no memory yet: a layout for each.
kernel::Layouts KernelImpl::layouts_of_given(std::span<const AnyView> inputs) const {
  kernel::check_operands(setup_.typed, pointers_to(inputs));
  kernel::Layouts layouts;
  for (const AnyView &view : inputs) layouts.inputs.push_back(view.layout);
  layouts.lies = kernel::add_windows(setup_.typed, layouts.inputs);
  for (std::size_t i = 0; i < layouts.inputs.size(); ++i)
    kernel::take_one_position(setup_.typed, i, layouts.inputs[i]);
  // Shapes only: whether each fold has a value is asked when the outputs are computed.
  const std::vector<bool> none(setup_.typed.outputs.size(), false);
  const plan::Resolved resolved = plan::resolve(setup_.typed, layouts.inputs, none);
  for (std::size_t o = 0; o < setup_.typed.outputs.size(); ++o)
    layouts.outputs.push_back(kernel::output_layout(setup_.typed, o, setup_.reads[o],
                                                    resolved.output_shapes[o], layouts.inputs));
  layouts.wanted.assign(setup_.typed.outputs.size(), true);
  return layouts;
}

kernel::Helpers KernelImpl::helpers() const {
  return {[this](std::int64_t count, const std::function<void(std::int64_t)> &task) {
            jit::runtime::run_tasks(setup_.workers_now(), count, task);
          },
          [this](kernel::Operands inputs) { return summed(inputs); }};
}

std::vector<Array> KernelImpl::summed(kernel::Operands inputs) const {
  std::vector<AnyView> views;
  for (const AnyView *input : inputs) views.push_back(*input);
  const kernel::Layouts layouts = before_->layouts_of_given(views);
  std::vector<Array> values;
  for (std::size_t s = 0; s < layouts.outputs.size(); ++s)
    values.push_back(Array::to_be_written(before_->setup().typed.outputs[s].dtype,
                                          contiguous_layout(layouts.outputs[s].shape())));
  for (const Array &value : values) views.push_back(value);
  before_->run_given(pointers_to(views));
  return values;
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

std::shared_ptr<const jit::FoldBlocks> KernelImpl::fold_blocks(const std::string &axis) const {
  if (setup_.engine == Engine::reference)
    support::fail("E0060",
                  "kernel '" + setup_.typed.name +
                      "' runs in the reference, which has no tree of folds",
                  {}, "compile it for another engine");
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = fold_blocks_.find(axis); it != fold_blocks_.end()) return it->second;
  }
  const support::FloatWorld world;
  Options of_blocks = setup_.options; // their states may be anything
  of_blocks.debug = setup_.options.debug & (Debug::interpreter | Debug::memory);
  auto made =
      std::make_shared<const jit::FoldBlocks>(setup_.whole(), axis, [&](spec::TypedSpec typed) {
        return std::make_shared<const KernelImpl>(setup_.spec, std::move(typed), of_blocks,
                                                  setup_.target, setup_.profile, setup_.threads, 0);
      });
  const std::lock_guard lock(mutex_);
  return fold_blocks_.emplace(axis, std::move(made)).first->second;
}

Counters KernelImpl::counters() const {
  const std::lock_guard lock(mutex_);
  Counters counters = patterns_.counters();
  counters.interpreted = interpreted_.load(std::memory_order_relaxed);
  if (before_) add(counters, before_->counters());
  for (const PartKernels &parts : part_kernels_)
    for (const auto &part : {parts.border.get(), parts.interior.get()})
      if (part != nullptr) add(counters, part->counters());
  for (const auto &let : lets_.kernels())
    if (let) add(counters, let->counters());
  return counters;
}

} // namespace broadloom
