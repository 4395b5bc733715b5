// What a KernelImpl is made of, and what it says without a call: the layouts of outputs, counters.
#include "jit/kernel.hpp"

#include "array/layout.hpp"
#include "kernel/layouts.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"

#include <cstdlib>
#include <string_view>

namespace broadloom {

using kernel::pointers_to;

namespace {

bool asked_to_verify() {
  const char *asked = std::getenv("BROADLOOM_VERIFY");
  return asked != nullptr && std::string_view(asked) == "1";
}

} // namespace

KernelImpl::KernelImpl(const LoopSpec &spec, spec::TypedSpec typed, const Options &options,
                       std::optional<jit::Target> target, Profile profile, int threads, double ms)
    : spec_(spec), options_(options), scatters_(rewrite::split_scatters(typed)),
      typed_(scatters_ ? scatters_->after : std::move(typed)), names_(typed_),
      reads_(kernel::inputs_read(typed_)), callers_inputs_(typed_.callers_inputs()),
      engine_(options.engine), target_(std::move(target)), profile_(profile),
      cache_dir_(options.cache_dir), threads_(threads),
      compares_(asked_to_verify() || asks(Debug::interpreter)),
      verifies_(compares_ || asks(Debug::memory)), cancel_(options.cancel),
      workers_(jit::runtime::workers(threads)), most_patterns_(most_patterns()),
      split_from_bytes_(split_from_bytes()), has_generic_(plan::has_generic(typed_)),
      has_windows_(typed_.given_inputs() < typed_.inputs.size()),
      has_lent_(typed_.given_inputs() > 0 && typed_.inputs[typed_.given_inputs() - 1].is_lent()),
      lets_(whole(), kept_of_loops(options), loop_bytes(),
            [&](const std::shared_ptr<const spec::Materialised> &let) {
              const std::shared_ptr<const SpecData> data(let, &let->data);
              return std::make_shared<const KernelImpl>(LoopSpec(data), let->typed, options,
                                                        target_, profile, threads, 0);
            }),
      before_(scatters_ ? std::make_unique<const KernelImpl>(spec, scatters_->before, options,
                                                             target_, profile, threads, 0)
                        : nullptr),
      facts_(kernel::inputs_with_facts(typed_)),
      is_plain_(!is_debugged() && lets_.empty() && !has_lent_ && !has_windows_ && facts_.empty()),
      by_parts_(has_windows_ && engine_ != Engine::reference ? kernel::by_parts(typed_)
                                                             : std::vector<kernel::ByParts>()),
      part_kernels_(by_parts_.size()) {
  for (const spec::TypedInput &input : typed_.inputs)
    declared_.push_back({input.dtype, int(input.axis_of_dim.size())});
  for (const spec::TypedOutput &output : typed_.outputs)
    declared_.push_back({output.dtype, int(output.axes.size())});
  counters_.compile_ms = counters_.steps.analyse = ms;
}

Results KernelImpl::call(std::vector<AnyView> operands, Order store) const {
  kernel::Layouts layouts = allocated_layouts(operands);
  for (Layout &layout : layouts.outputs) {
    if (store == Order::c) layout = contiguous_layout(layout.shape());
    if (store == Order::f) layout = array::fortran_layout(layout.shape());
  }
  std::vector<std::pair<std::string, Array>> arrays;
  for (std::size_t o = 0; o < typed_.outputs.size(); ++o)
    arrays.emplace_back(typed_.outputs[o].name,
                        kernel::allocate(typed_.outputs[o], layouts.outputs[o]));
  for (const auto &[name, array] : arrays) operands.push_back(array);
  run(pointers_to(operands));
  return Results(std::move(arrays));
}

kernel::Layouts KernelImpl::allocated_layouts(std::span<const AnyView> inputs) const {
  const support::FloatWorld world;
  kernel::check_input_count(typed_, inputs.size());
  if (const spec::TypedInput *shape = typed_.lent_input()) kernel::fail_lent(typed_, *shape);
  if (lets_.empty() && !has_lent_) return layouts_of_given(inputs);
  kernel::check_operands(typed_, pointers_to(inputs));
  std::vector<AnyView> lets, given;
  if (!lets_.empty()) lets = lets_.views(*lets_.layouts(pointers_to(inputs)), nullptr);
  const kernel::LentOperands lent(typed_, lets_.operands_of_rest(pointers_to(inputs), lets, {}));
  for (const AnyView *view : lent.all()) given.push_back(*view);
  return layouts_of_given(given);
}

// The outputs have no memory yet: a layout for each.
kernel::Layouts KernelImpl::layouts_of_given(std::span<const AnyView> inputs) const {
  kernel::check_operands(typed_, pointers_to(inputs));
  kernel::Layouts layouts;
  for (const AnyView &view : inputs) layouts.inputs.push_back(view.layout);
  layouts.lies = kernel::add_windows(typed_, layouts.inputs);
  for (std::size_t i = 0; i < layouts.inputs.size(); ++i)
    kernel::take_one_position(typed_, i, layouts.inputs[i]);
  // Shapes only: whether each fold has a value is asked when the outputs are computed.
  const std::vector<bool> none(typed_.outputs.size(), false);
  const plan::Resolved resolved = plan::resolve(typed_, layouts.inputs, none);
  for (std::size_t o = 0; o < typed_.outputs.size(); ++o)
    layouts.outputs.push_back(
        kernel::output_layout(typed_, o, reads_[o], resolved.output_shapes[o], layouts.inputs));
  layouts.wanted.assign(typed_.outputs.size(), true);
  return layouts;
}

kernel::Helpers KernelImpl::helpers() const {
  return {[this](std::int64_t count, const std::function<void(std::int64_t)> &task) {
            jit::runtime::run_tasks(workers_now(), count, task);
          },
          [this](kernel::Operands inputs) { return summed(inputs); }};
}

std::vector<Array> KernelImpl::summed(kernel::Operands inputs) const {
  std::vector<AnyView> views;
  for (const AnyView *input : inputs) views.push_back(*input);
  const kernel::Layouts layouts = before_->layouts_of_given(views);
  std::vector<Array> values;
  for (std::size_t s = 0; s < layouts.outputs.size(); ++s)
    values.push_back(Array::to_be_written(before_->typed_.outputs[s].dtype,
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
  if (engine_ == Engine::reference)
    support::fail("E0060",
                  "kernel '" + typed_.name + "' runs in the reference, which has no tree of folds",
                  {}, "compile it for another engine");
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = fold_blocks_.find(axis); it != fold_blocks_.end()) return it->second;
  }
  const support::FloatWorld world;
  Options of_blocks = options_; // their states may be anything
  of_blocks.debug = options_.debug & (Debug::interpreter | Debug::memory);
  auto made = std::make_shared<const jit::FoldBlocks>(whole(), axis, [&](spec::TypedSpec typed) {
    return std::make_shared<const KernelImpl>(spec_, std::move(typed), of_blocks, target_, profile_,
                                              threads_, 0);
  });
  const std::lock_guard lock(mutex_);
  return fold_blocks_.emplace(axis, std::move(made)).first->second;
}

Counters KernelImpl::counters() const {
  const std::lock_guard lock(mutex_);
  Counters counters = counters_;
  counters.patterns = std::int64_t(patterns_.size());
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
