// The public face of a kernel: arguments by position or by name, allocated outputs, bound calls.
#include "jit/kernel.hpp"
#include "jit/time_loop.hpp"

#include "array/layout.hpp"

#include "jit/frozen.hpp"
#include "jit/small.hpp"
#include "kernel/layouts.hpp"
#include "kernel/windows.hpp"
#include "support/fail.hpp"
#include "support/float_control.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace broadloom {
namespace {

using Pointers = jit::Small<const AnyView *, jit::few_operands>;

// A call with its arguments fixed.
struct BoundState {
  int most_threads = 0; // of the call as a whole
  // Of a kernel that is debugged all that there is: the operands, for each call to look at anew.
  std::vector<AnyView> checked;
  std::vector<bool> is_given;                          // [operand]
  std::vector<std::shared_ptr<const BoundState>> lets; // in order
  std::shared_ptr<const jit::TimeLoop> loop;           // then it is all that this is
  Array let_memory;                                    // of all of them
  std::shared_ptr<const KernelImpl> kernel;
  std::shared_ptr<const FrozenParameters> frozen;           // keeps their memory
  std::unique_ptr<const kernel::WindowedOperands> windowed; // what they see may be copies
  struct Part {
    const KernelImpl *kernel = nullptr;                 // the state's, or a part of it
    std::shared_ptr<const jit::Specialisation> special; // null: the reference evaluates
    std::vector<AnyView> views;            // of all operands; unused where one is not wanted
    std::vector<const AnyView *> operands; // into views, null where one is not wanted
    // Ready for the phases where nothing else is left to do; empty where a call needs scratch memory
    // or copies of inputs.
    std::vector<char *> buffers;
  };
  std::vector<Part> parts;
  // Where the steps of one part are all that a call is.
  std::span<const jit::Specialisation::Step> steps;
  loop::Frame frame;
};

bool asked_to_verify() {
  const char *asked = std::getenv("BROADLOOM_VERIFY");
  return asked != nullptr && std::string_view(asked) == "1";
}

using kernel::pointers_to;

} // namespace

KernelImpl::KernelImpl(const LoopSpec &spec, spec::TypedSpec typed, const Options &options,
                       std::optional<jit::Target> target, Profile profile, int threads, double ms)
    : spec_(spec), options_(options), scatters_(spec::split_scatters(typed)),
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
      is_plain_(!is_debugged() && lets_.empty() && !has_lent_ && !has_windows_),
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
  kernel::add_windows(typed_, layouts.inputs);
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

const std::shared_ptr<const KernelImpl> &Kernel::impl() const {
  if (!impl_)
    support::fail("E0317", "this kernel is empty", {}, "assign one that bl::compile has made");
  return impl_;
}

// Of a call of the kernel: says so.
[[noreturn]] static void rethrow(Error &error, const KernelImpl *kernel,
                                 const std::source_location &line) {
  if (kernel) error.note_call(kernel->typed().name, place_of(line));
  throw;
}

void Kernel::run(std::span<const AnyView> inputs, std::span<const AnyView> outputs, Line line) const
    try {
  const jit::runtime::ThreadCap cap(most_threads_);
  std::vector<AnyView> all;
  if (frozen_) inputs = all = frozen_->all(impl()->typed(), inputs);
  if (!impl()->takes(inputs.size(), outputs.size())) [[unlikely]]
    kernel::check_counts(impl()->typed(), inputs.size(), outputs.size());
  const std::size_t count = inputs.size() + outputs.size();
  Pointers operands(count);
  std::size_t k = 0;
  for (const AnyView &view : inputs) operands[k++] = &view;
  for (const AnyView &view : outputs) operands[k++] = &view;
  impl()->run({operands.data(), count});
} catch (Error &error) {
  rethrow(error, impl_.get(), line);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

void Kernel::run_named(std::span<const NamedView> inputs, std::span<const NamedView> outputs,
                       Line line) const try {
  const jit::runtime::ThreadCap cap(most_threads_);
  std::vector<NamedView> all;
  if (frozen_) inputs = all = frozen_->all(inputs);
  impl()->run(kernel::by_name(impl()->typed(), impl()->names(), inputs, outputs));
} catch (Error &error) {
  rethrow(error, impl_.get(), line);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

// The inputs in declared order, those that are built in too.
static std::vector<AnyView> in_order(const KernelImpl &kernel, const FrozenParameters *frozen,
                                     std::span<const NamedView> inputs) {
  std::vector<NamedView> all;
  if (frozen != nullptr) inputs = all = frozen->all(inputs);
  const std::vector<const AnyView *> operands =
      kernel::by_name(kernel.typed(), kernel.names(), inputs, {});
  std::vector<AnyView> views;
  for (std::size_t i = 0; i < kernel.typed().callers_inputs(); ++i) views.push_back(*operands[i]);
  return views;
}

Results Kernel::call(std::span<const NamedView> inputs, Order store, Line line) const try {
  const jit::runtime::ThreadCap cap(most_threads_);
  return impl()->call(in_order(*impl(), frozen_.get(), inputs), store);
} catch (Error &error) {
  rethrow(error, impl_.get(), line);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

static void bind_given(BoundState &, std::shared_ptr<const KernelImpl>, kernel::Operands);

// Of a state without lets.
static void find_steps(BoundState &state) {
  if (state.parts.size() != 1 || state.parts[0].buffers.empty() || state.windowed->fills_output() ||
      state.windowed->has_copies())
    return;
  const BoundState::Part &part = state.parts[0];
  state.steps = part.special->steps;
  state.frame = jit::frame_of(*part.special);
  state.frame.buffers = part.buffers.data();
}

// What `bind` keeps of a call with these operands.
static std::shared_ptr<const BoundState> bound_state(std::shared_ptr<const KernelImpl> kernel,
                                                     std::shared_ptr<const FrozenParameters> frozen,
                                                     kernel::Operands call, int most_threads) {
  const spec::TypedSpec &spec = kernel->typed();
  auto state = std::make_shared<BoundState>();
  state->most_threads = most_threads;
  const jit::Lets &lets = kernel->lets();
  state->frozen = std::move(frozen);
  if (kernel->is_debugged()) {
    for (const AnyView *view : call) state->checked.push_back(view != nullptr ? *view : AnyView());
    for (std::size_t k = 0; k < call.size(); ++k) state->is_given.push_back(call[k] != nullptr);
    state->kernel = std::move(kernel);
    return state;
  }
  if (lets.empty()) {
    bind_given(*state, std::move(kernel), call);
    find_steps(*state);
    return state;
  }
  const kernel::Operands inputs = call.first(spec.callers_inputs());
  kernel::check_operands(spec, inputs);
  const auto layouts = lets.layouts(inputs);
  state->let_memory = Array(DType::U8, {layouts->places.bytes});
  const std::vector<AnyView> views =
      lets.views(*layouts, static_cast<char *>(state->let_memory.raw()));
  const kernel::Operands outputs = call.subspan(inputs.size());
  bind_given(*state, kernel, lets.operands_of_rest(inputs, views, outputs));
  const std::vector<bool> needed = lets.needed(outputs);
  jit::LoopsBefore loops(needed.size());
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (!needed[k]) continue;
    const std::optional<spec::Recurrence> &loop = lets.specs()[k]->recurrence;
    if (loop && loop->first != k) continue; // a part of a loop that is there
    if (!loop) {
      state->lets.push_back(
          bound_state(lets.kernels()[k], nullptr, lets.operands(k, inputs, views), 0));
      continue;
    }
    auto steps = std::make_shared<BoundState>();
    steps->loop = loops[k] = std::make_shared<const jit::TimeLoop>(lets, layouts, k, inputs, views,
                                                                   loops, kernel->windows());
    state->lets.push_back(std::move(steps));
  }
  return state;
}

static void bind_given(BoundState &bound, std::shared_ptr<const KernelImpl> kernel,
                       kernel::Operands call) {
  const spec::TypedSpec &spec = kernel->typed();
  BoundState *state = &bound;
  const kernel::LentOperands lent(spec, call);
  const kernel::Operands given = lent.all();
  kernel::check_operands(spec, given.first(spec.given_inputs()));
  state->windowed = std::make_unique<const kernel::WindowedOperands>(spec, given, kernel->helpers(),
                                                                     kernel->windows_or_output());
  if (state->windowed->fills_output()) state->windowed->look();
  const std::size_t calls = state->windowed->calls();
  if (calls > 1) kernel::check_apart(spec, state->windowed->all());
  kernel->note_parts(*state->windowed);
  for (std::size_t c = 0; c < calls; ++c) {
    const kernel::Operands operands = state->windowed->call(c);
    BoundState::Part &part = state->parts.emplace_back();
    part.kernel = &kernel->of_part(state->windowed->part(c));
    const spec::TypedSpec &of_part = part.kernel->typed();
    for (const AnyView *view : operands) part.views.push_back(view != nullptr ? *view : AnyView());
    for (std::size_t k = 0; k < operands.size(); ++k)
      part.operands.push_back(operands[k] != nullptr ? &part.views[k] : nullptr);
    kernel::check_operands(of_part, part.operands);
    kernel::check_pointers(of_part, part.operands);
    kernel::check_apart(of_part, part.operands);
    if (kernel->engine() == Engine::reference) continue;
    part.special = part.kernel->bind(part.operands, KernelImpl::Use::Often);
    part.buffers = part.kernel->ready_buffers(*part.special, part.operands);
  }
  state->kernel = std::move(kernel);
}

BoundCall Kernel::bind(std::span<const AnyView> inputs, std::span<const AnyView> outputs,
                       Line line) const try {
  std::vector<AnyView> all;
  if (frozen_) inputs = all = frozen_->all(impl()->typed(), inputs);
  kernel::check_counts(impl()->typed(), inputs.size(), outputs.size());
  std::vector<const AnyView *> operands = pointers_to(inputs);
  for (const AnyView &view : outputs) operands.push_back(&view);
  const jit::runtime::ThreadCap cap(most_threads_); // copies are made here
  return BoundCall(bound_state(impl(), frozen_, operands, most_threads_));
} catch (Error &error) {
  rethrow(error, impl_.get(), line);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

BoundCall Kernel::bind_named(std::span<const NamedView> inputs, std::span<const NamedView> outputs,
                             Line line) const try {
  std::vector<NamedView> all;
  if (frozen_) inputs = all = frozen_->all(inputs);
  const jit::runtime::ThreadCap cap(most_threads_);
  return BoundCall(bound_state(impl(), frozen_,
                               kernel::by_name(impl()->typed(), impl()->names(), inputs, outputs),
                               most_threads_));
} catch (Error &error) {
  rethrow(error, impl_.get(), line);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

static void run_bound(const BoundState &state) {
  if (!state.checked.empty()) {
    std::vector<const AnyView *> operands = pointers_to(state.checked);
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (!state.is_given[k]) operands[k] = nullptr;
    return state.kernel->run(operands);
  }
  if (state.loop) return state.loop->run();
  for (const auto &let : state.lets) run_bound(*let);
  state.windowed->copy_again();
  if (state.windowed->fills_output()) return state.kernel->fill(*state.windowed);
  for (const BoundState::Part &part : state.parts) {
    if (!part.buffers.empty())
      part.kernel->run_phases(*part.special, part.buffers.data());
    else if (part.special)
      part.kernel->execute(*part.special, part.operands);
    else
      part.kernel->run_windowed(part.operands);
  }
}

void BoundCall::operator()(std::source_location line) const try {
  if (!state_) support::fail("E0317", "this bound call is empty", {}, "make one by Kernel::bind");
  const auto *state = static_cast<const BoundState *>(state_.get());
  if (!state->steps.empty()) [[likely]]
    return jit::run_steps(state->steps, state->frame);
  const jit::runtime::ThreadCap cap(state->most_threads);
  run_bound(*state);
} catch (Error &error) {
  const auto *state = static_cast<const BoundState *>(state_.get());
  rethrow(error, state ? state->kernel.get() : nullptr, line);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::int64_t Kernel::unit(std::string_view axis, std::span<const NamedView> inputs) const try {
  return impl()->fold_blocks(std::string(axis))->unit(in_order(*impl(), frozen_.get(), inputs));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Partial Kernel::partial(std::string_view axis, std::int64_t offset,
                        std::span<const NamedView> inputs) const try {
  const jit::runtime::ThreadCap cap(most_threads_);
  return impl()
      ->fold_blocks(std::string(axis))
      ->partial(offset, in_order(*impl(), frozen_.get(), inputs));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Partial Kernel::partial(const Partial &before, std::int64_t offset,
                        std::span<const NamedView> inputs) const try {
  const jit::runtime::ThreadCap cap(most_threads_);
  return impl()
      ->fold_blocks(before.axis)
      ->partial(before, offset, in_order(*impl(), frozen_.get(), inputs));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

int Kernel::rounds(std::string_view axis) const try {
  return impl()->fold_blocks(std::string(axis))->rounds();
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Partial Kernel::join(std::span<const Partial> blocks) const try {
  if (blocks.empty())
    support::fail("E0151", "there are no blocks of kernel '" + impl()->typed().name + "' to join",
                  {}, "give at least one that has positions");
  const jit::runtime::ThreadCap cap(most_threads_);
  return impl()->fold_blocks(blocks.front().axis)->join(blocks);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Results Kernel::combine(std::span<const Partial> blocks, std::span<const NamedView> inputs) const {
  return combine(blocks, jit::FoldBlocks::nowhere, inputs);
}

Results Kernel::combine(std::span<const Partial> blocks, std::int64_t offset,
                        std::span<const NamedView> inputs) const try {
  if (blocks.empty())
    support::fail("E0151",
                  "there are no blocks of kernel '" + impl()->typed().name + "' to combine", {},
                  "give at least one that has positions");
  std::vector<NamedView> all;
  if (frozen_) inputs = all = frozen_->all(inputs);
  const jit::runtime::ThreadCap cap(most_threads_);
  return impl()->fold_blocks(blocks.front().axis)->combine(blocks, offset, inputs);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::string Kernel::why_no_map(std::string_view axis) const {
  return spec::why_no_map(impl()->whole(), std::string(axis));
}

static void prepare_given(const KernelImpl &kernel, kernel::Operands named) {
  const kernel::LentOperands lent(kernel.typed(), named);
  const kernel::Operands given = lent.all();
  if (kernel.before()) {
    std::vector<AnyView> inputs;
    for (const AnyView *view : given.first(kernel.typed().given_inputs())) inputs.push_back(*view);
    const kernel::Layouts layouts = kernel.before()->layouts_of_given(inputs);
    for (std::size_t o = 0; o < layouts.outputs.size(); ++o)
      inputs.push_back(
          {kernel.before()->typed().outputs[o].dtype, nullptr, true, layouts.outputs[o]});
    prepare_given(*kernel.before(), pointers_to(inputs));
  }
  const kernel::WindowedOperands windowed(kernel.typed(), given, kernel.helpers(),
                                          kernel.windows_of_nothing());
  kernel.note_parts(windowed);
  for (std::size_t c = 0; c < windowed.calls(); ++c)
    kernel.of_part(windowed.part(c)).bind(windowed.call(c), KernelImpl::Use::Once);
}

static void prepare_for(const KernelImpl &impl, const std::vector<AnyView> &inputs) {
  const spec::TypedSpec &spec = impl.typed();
  const kernel::Layouts layouts = impl.allocated_layouts(inputs);
  if (impl.engine() == Engine::reference) return;
  std::vector<AnyView> outputs;
  for (std::size_t o = 0; o < spec.outputs.size(); ++o)
    outputs.push_back({spec.outputs[o].dtype, nullptr, true, layouts.outputs[o]});
  const jit::Lets &lets = impl.lets();
  const std::vector<const AnyView *> in = pointers_to(inputs), out = pointers_to(outputs);
  std::vector<AnyView> arrays;
  std::shared_ptr<const jit::Lets::Layouts> of_lets;
  if (!lets.empty()) arrays = lets.views(*(of_lets = lets.layouts(in)), nullptr);
  jit::LoopsBefore loops(lets.specs().size());
  for (std::size_t k = 0; k < lets.specs().size(); ++k) {
    const std::optional<spec::Recurrence> &loop = lets.specs()[k]->recurrence;
    if (loop && loop->first == k)
      jit::TimeLoop(lets, of_lets, k, in, arrays, loops, impl.windows_of_nothing()).prepare();
    else if (!loop && lets.kernels()[k])
      prepare_given(*lets.kernels()[k], lets.operands(k, in, arrays));
  }
  prepare_given(impl, lets.operands_of_rest(in, arrays, out));
}

void Kernel::prepare(std::span<const AnyView> inputs) const try {
  prepare_for(*impl(), frozen_ ? frozen_->all(impl()->typed(), inputs)
                               : std::vector<AnyView>(inputs.begin(), inputs.end()));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

static std::vector<Signature> signatures(const KernelImpl &kernel,
                                         std::span<const AnyView> inputs) {
  const spec::TypedSpec &spec = kernel.typed();
  const kernel::Layouts layouts = kernel.allocated_layouts(inputs);
  std::vector<Signature> result;
  for (std::size_t o = 0; o < spec.outputs.size(); ++o) {
    const auto shape = layouts.outputs[o].shape();
    result.push_back({spec.outputs[o].name, spec.outputs[o].dtype, {shape.begin(), shape.end()}});
  }
  return result;
}

std::vector<Signature> Kernel::infer(std::span<const AnyView> inputs) const try {
  return frozen_ ? signatures(*impl(), frozen_->all(impl()->typed(), inputs))
                 : signatures(*impl(), inputs);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

void Kernel::prepare_named(std::span<const NamedView> inputs) const try {
  prepare_for(*impl(), in_order(*impl(), frozen_.get(), inputs));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::vector<Signature> Kernel::infer_named(std::span<const NamedView> inputs) const try {
  return signatures(*impl(), in_order(*impl(), frozen_.get(), inputs));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

static std::vector<std::string> names_of(const spec::TypedSpec &spec,
                                         const std::vector<int> &axes) {
  std::vector<std::string> names;
  for (const int axis : axes) names.push_back(spec.axes[std::size_t(axis)].name);
  return names;
}

std::vector<InputInfo> Kernel::inputs() const try {
  const spec::TypedSpec &spec = impl()->typed();
  std::vector<InputInfo> infos;
  std::size_t i = 0;
  for (const spec::TypedInput &input : spec.callers())
    if (!frozen_ || !frozen_->has(i++))
      infos.push_back({input.name, input.dtype, names_of(spec, input.axis_of_dim), input.extents,
                       input.where, input.role, input.sign});
  return infos;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::vector<OutputInfo> Kernel::outputs() const try {
  const spec::TypedSpec &spec = impl()->typed();
  std::vector<OutputInfo> infos;
  for (std::size_t o = 0; o < spec.outputs.size(); ++o) {
    const spec::TypedOutput &output = spec.outputs[o];
    infos.push_back({output.name, output.dtype, names_of(spec, output.axes),
                     impl()->spec().data().outputs[o].mode.kind, output.add, output.where,
                     output.update});
  }
  return infos;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::string Kernel::show(Stage stage, const ShowFormat &format) const {
  return impl()->show(stage, format);
}
std::vector<Decision> Kernel::why() const { return impl()->why(); }
const LoopSpec &Kernel::spec() const { return impl()->spec(); }
Counters Kernel::counters() const { return impl()->counters(); }
Prediction Kernel::predict() const try {
  return impl()->predict();
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}
Engine Kernel::engine() const { return impl()->engine_used(); }
int Kernel::threads() const {
  return most_threads_ > 0 ? std::min(most_threads_, impl()->threads()) : impl()->threads();
}
Kernel Kernel::with_threads(int most) const {
  if (most < 0)
    support::fail("E0321", fmt::format("a call cannot run on {} threads", most), {},
                  "give a number from 1 on, or 0 for as many as the kernel was compiled for");
  return Kernel(impl(), frozen_, most);
}

} // namespace broadloom
