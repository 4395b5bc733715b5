// Calls with their arguments fixed: looked at once, run many times.
#include "jit/frozen.hpp"
#include "jit/kernel.hpp"
#include "jit/public_call.hpp"
#include "jit/time_loop.hpp"
#include "kernel/layouts.hpp"
#include "kernel/windows.hpp"
#include "support/fail.hpp"

namespace broadloom {

using kernel::pointers_to;

namespace {

// A call with its arguments fixed.
struct BoundState {
  int most_threads = 0; // of the call as a whole
  // Of a kernel that is debugged all that there is: the operands, for each call to look at anew.
  std::vector<std::optional<AnyView>> checked;
  std::vector<std::shared_ptr<const BoundState>> lets; // in order
  std::shared_ptr<const jit::TimeLoop> loop;           // then it is all that this is
  Array let_memory;                                    // of all of them
  std::shared_ptr<const KernelImpl> kernel;
  std::vector<AnyView> inputs; // of a kernel with facts, for each call to look at anew
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

} // namespace

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
static std::shared_ptr<BoundState> bound_state(std::shared_ptr<const KernelImpl> kernel,
                                               std::shared_ptr<const FrozenParameters> frozen,
                                               kernel::Operands call, int most_threads) {
  const spec::TypedSpec &spec = kernel->typed();
  auto state = std::make_shared<BoundState>();
  state->most_threads = most_threads;
  const jit::Lets &lets = kernel->subs().lets();
  state->frozen = std::move(frozen);
  if (kernel->setup().is_debugged()) {
    for (const AnyView *view : call)
      view != nullptr ? state->checked.push_back(*view) : state->checked.push_back(std::nullopt);
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
  state->let_memory = Array(DType::U8, {layouts->bytes_to_have()});
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
    steps->loop = loops[k] = std::make_shared<const jit::TimeLoop>(
        lets, layouts, k, inputs, views, loops, kernel->setup().windows());
    state->lets.push_back(std::move(steps));
  }
  return state;
}

static void bind_given(BoundState &state, std::shared_ptr<const KernelImpl> kernel,
                       kernel::Operands call) {
  const spec::TypedSpec &spec = kernel->typed();
  const kernel::LentOperands lent(spec, call);
  const kernel::Operands given = lent.all();
  kernel::check_operands(spec, given.first(spec.given_inputs()));
  state.windowed = std::make_unique<const kernel::WindowedOperands>(
      spec, given, kernel->helpers(), kernel->setup().windows_or_output());
  if (state.windowed->fills_output()) state.windowed->look();
  const std::size_t calls = state.windowed->calls();
  if (calls > 1) kernel::check_apart(spec, state.windowed->all());
  kernel->note_windows(*state.windowed);
  for (std::size_t c = 0; c < calls; ++c) {
    const kernel::Operands operands = state.windowed->call(c);
    BoundState::Part &part = state.parts.emplace_back();
    part.kernel = &kernel->subs().of_part(state.windowed->part(c));
    const spec::TypedSpec &of_part = part.kernel->typed();
    for (const AnyView *view : operands) part.views.push_back(view != nullptr ? *view : AnyView());
    for (std::size_t k = 0; k < operands.size(); ++k)
      part.operands.push_back(operands[k] != nullptr ? &part.views[k] : nullptr);
    kernel::check_operands(of_part, part.operands);
    kernel::check_pointers(of_part, part.operands);
    kernel::check_apart(of_part, part.operands);
    if (kernel->setup().engine == Engine::reference) continue;
    part.special = part.kernel->bind(part.operands, state.windowed->lies(c), jit::Use::Often);
    part.buffers = part.kernel->executor().ready_buffers(*part.special, part.operands);
  }
  state.kernel = std::move(kernel);
}

// As KernelImpl::run_unchecked.
static std::shared_ptr<const BoundState> bound_call(const std::shared_ptr<const KernelImpl> &kernel,
                                                    std::shared_ptr<const FrozenParameters> frozen,
                                                    kernel::Operands call, int most_threads) try {
  std::shared_ptr<BoundState> state = bound_state(kernel, std::move(frozen), call, most_threads);
  if (!kernel->setup().facts.empty()) {
    for (const AnyView *view : call.first(kernel->typed().callers_inputs()))
      state->inputs.push_back(*view);
    state->steps = {}; // a call has something to do before them
  }
  if (kernel->setup().engine == Engine::reference)
    kernel->check_shapes(call); // others have done so
  return state;
} catch (const DataError &) {
  kernel->check_shapes(call);
  throw;
}

BoundCall Kernel::bind(std::span<const AnyView> inputs, std::span<const AnyView> outputs,
                       Line line) const try {
  std::vector<AnyView> all;
  if (frozen_) inputs = all = frozen_->all(impl()->typed(), inputs);
  kernel::check_counts(impl()->typed(), inputs.size(), outputs.size());
  std::vector<const AnyView *> operands = pointers_to(inputs);
  for (const AnyView &view : outputs) operands.push_back(&view);
  const jit::runtime::ThreadCap cap(most_threads_); // copies are made here
  return BoundCall(bound_call(impl(), frozen_, operands, most_threads_));
} catch (const std::exception &) {
  rethrow(impl_.get(), line);
}

BoundCall Kernel::bind_named(std::span<const NamedView> inputs, std::span<const NamedView> outputs,
                             Line line) const try {
  std::vector<NamedView> all;
  if (frozen_) inputs = all = frozen_->all(inputs);
  const jit::runtime::ThreadCap cap(most_threads_);
  return BoundCall(bound_call(
      impl(), frozen_, kernel::by_name(impl()->typed(), impl()->setup().names, inputs, outputs),
      most_threads_));
} catch (const std::exception &) {
  rethrow(impl_.get(), line);
}

static void run_bound(const BoundState &state) {
  if (!state.checked.empty()) {
    std::vector<const AnyView *> operands;
    for (const auto &view : state.checked) operands.push_back(view ? &*view : nullptr);
    return state.kernel->run(operands);
  }
  if (!state.inputs.empty()) state.kernel->setup().check_facts(pointers_to(state.inputs));
  if (state.loop) return state.loop->run(jit::TimeLoop::Copies::Again);
  for (const auto &let : state.lets) run_bound(*let);
  state.windowed->copy_again();
  if (state.windowed->fills_output()) {
    state.kernel->setup().stop_if_cancelled();
    return state.windowed->fill();
  }
  for (const BoundState::Part &part : state.parts) {
    kernel::record_run(part.kernel->typed(), state.kernel->typed().name, part.operands);
    if (!part.buffers.empty())
      part.kernel->executor().run_phases(*part.special, part.buffers.data());
    else if (part.special)
      part.kernel->executor().execute(*part.special, part.operands);
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
} catch (const std::exception &) {
  const auto *state = static_cast<const BoundState *>(state_.get());
  rethrow(state ? state->kernel.get() : nullptr, line);
}

} // namespace broadloom
