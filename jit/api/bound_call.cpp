// Calls with their arguments fixed: looked at once, run many times.
#include "jit/api/public_call.hpp"
#include "jit/call/frozen.hpp"
#include "jit/call/kernel.hpp"
#include "jit/call/run_call.hpp"
#include "support/fail.hpp"

namespace broadloom {

using kernel::pointers_to;

namespace {

// A call with its arguments fixed.
struct BoundState {
  int most_threads = 0; // of the call as a whole
  std::shared_ptr<const KernelImpl> kernel;
  std::shared_ptr<const FrozenParameters> frozen; // keeps their memory
  // Of a kernel that is debugged all that there is: the operands, for each call to look at anew. Of
  // one with facts they are looked at before each call.
  std::vector<AnyView> views;
  std::vector<const AnyView *> operands;
  std::optional<jit::RepeatedCall> call;
  // Where the steps of one nest are all that a call is.
  std::span<const jit::Specialisation::Step> steps;
  loop::Frame frame;
};

} // namespace

// What `bind` keeps of a call with these operands.
static std::shared_ptr<const BoundState> bound_call(std::shared_ptr<const KernelImpl> kernel,
                                                    std::shared_ptr<const FrozenParameters> frozen,
                                                    kernel::Operands call, int most_threads) {
  auto state = std::make_shared<BoundState>();
  state->most_threads = most_threads;
  state->kernel = std::move(kernel);
  state->frozen = std::move(frozen);
  for (const AnyView *view : call) state->views.push_back(view != nullptr ? *view : AnyView());
  for (std::size_t k = 0; k < call.size(); ++k)
    state->operands.push_back(call[k] != nullptr ? &state->views[k] : nullptr);
  const KernelImpl &impl = *state->kernel;
  if (impl.setup().is_debugged()) return state;
  const std::shared_ptr<const jit::CallPlan> plan = impl.plans().of(impl.nests(), call);
  const jit::RepeatedCall &repeated = state->call.emplace(impl.nests(), plan, call);
  const jit::ReadyRun *only = repeated.only_run();
  if (only == nullptr || !impl.setup().facts.empty()) return state;
  state->steps = only->special->steps;
  state->frame = jit::frame_of(*only->special);
  state->frame.buffers = only->buffers.data();
  return state;
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
  if (!state.call) return state.kernel->run(state.operands);
  const jit::Setup &setup = state.kernel->setup();
  setup.check_facts(state.operands);
  state.call->run();
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
