// The public face of a kernel: arguments by position or by name, allocated outputs, bound calls.
#include "jit/kernel.hpp"

#include "jit/layouts.hpp"
#include "jit/small.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace broadloom {
namespace {

using Pointers = jit::Small<const AnyView *, jit::few_operands>;

// A call with its arguments fixed.
struct BoundState {
  std::shared_ptr<const KernelImpl> kernel;
  std::shared_ptr<const jit::Bound> bound; // null: the reference evaluates
  std::vector<AnyView> views;
  std::vector<const AnyView *> operands; // into views
  // Ready for the phases where nothing else is left to do; empty where a call needs scratch memory
  // or copies of inputs.
  std::vector<char *> buffers;
};

bool asked_to_verify() {
  const char *asked = std::getenv("BROADLOOM_VERIFY");
  return asked != nullptr && std::string_view(asked) == "1";
}

std::vector<const AnyView *> pointers_to(std::span<const AnyView> views) {
  std::vector<const AnyView *> result;
  for (const AnyView &view : views) result.push_back(&view);
  return result;
}

} // namespace

KernelImpl::KernelImpl(const LoopSpec &spec, spec::TypedSpec typed, const Options &options,
                       std::optional<jit::Target> target, Profile profile, int threads, double ms)
    : spec_(spec), typed_(std::move(typed)), names_(typed_), reads_(jit::inputs_read(typed_)),
      engine_(options.engine), target_(std::move(target)), profile_(profile), threads_(threads),
      verifies_(asked_to_verify()), cancel_(options.cancel),
      workers_(jit::runtime::workers(threads)) {
  for (const spec::TypedInput &input : typed_.inputs)
    declared_.push_back({input.dtype, int(input.axis_of_dim.size())});
  for (const spec::TypedOutput &output : typed_.outputs)
    declared_.push_back({output.dtype, int(output.axes.size())});
  counters_.compile_ms = ms;
}

// The outputs have no memory yet: a layout for each.
jit::Layouts KernelImpl::allocated_layouts(std::span<const AnyView> inputs) const {
  jit::check_input_count(typed_, inputs.size());
  jit::check_operands(typed_, pointers_to(inputs));
  jit::Layouts layouts;
  for (const AnyView &view : inputs) layouts.inputs.push_back(view.layout);
  // Shapes only: whether each fold has a value is asked when the outputs are computed.
  const std::vector<bool> none(typed_.outputs.size(), false);
  const plan::Resolved resolved = plan::resolve(typed_, layouts.inputs, none);
  for (std::size_t o = 0; o < typed_.outputs.size(); ++o)
    layouts.outputs.push_back(
        jit::output_layout(typed_, o, reads_[o], resolved.output_shapes[o], layouts.inputs));
  layouts.wanted.assign(typed_.outputs.size(), true);
  return layouts;
}

Counters KernelImpl::counters() const {
  const std::lock_guard lock(mutex_);
  Counters counters = counters_;
  counters.patterns = std::int64_t(patterns_.size());
  counters.interpreted = interpreted_.load(std::memory_order_relaxed);
  return counters;
}

void Kernel::run(std::span<const AnyView> inputs, std::span<const AnyView> outputs) const {
  jit::check_counts(impl_->typed(), inputs.size(), outputs.size());
  const std::size_t count = inputs.size() + outputs.size();
  Pointers operands(count);
  std::size_t k = 0;
  for (const AnyView &view : inputs) operands[k++] = &view;
  for (const AnyView &view : outputs) operands[k++] = &view;
  impl_->run({operands.data(), count});
}

void Kernel::run_named(std::span<const NamedView> inputs,
                       std::span<const NamedView> outputs) const {
  impl_->run(jit::by_name(impl_->typed(), impl_->names(), inputs, outputs));
}

Results Kernel::call(std::span<const NamedView> inputs) const {
  const spec::TypedSpec &spec = impl_->typed();
  std::vector<const AnyView *> operands = jit::by_name(spec, impl_->names(), inputs, {});
  std::vector<AnyView> views;
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) views.push_back(*operands[i]);
  const jit::Layouts layouts = impl_->allocated_layouts(views);
  std::vector<std::pair<std::string, Array>> arrays;
  for (std::size_t o = 0; o < spec.outputs.size(); ++o)
    arrays.emplace_back(spec.outputs[o].name, jit::allocate(spec.outputs[o], layouts.outputs[o]));
  for (const auto &[name, array] : arrays) views.push_back(array);
  impl_->run(pointers_to(views));
  return Results(std::move(arrays));
}

BoundCall Kernel::bind(std::span<const AnyView> inputs, std::span<const AnyView> outputs) const {
  jit::check_counts(impl_->typed(), inputs.size(), outputs.size());
  auto state = std::make_shared<BoundState>();
  state->kernel = impl_;
  state->views.assign(inputs.begin(), inputs.end());
  state->views.insert(state->views.end(), outputs.begin(), outputs.end());
  state->operands = pointers_to(state->views);
  jit::check_operands(impl_->typed(), state->operands);
  jit::check_pointers(impl_->typed(), state->operands);
  jit::check_apart(impl_->typed(), state->operands);
  if (impl_->engine() != Engine::Reference) {
    state->bound = impl_->bind(state->operands);
    state->buffers = impl_->ready_buffers(*state->bound, state->operands);
  }
  return BoundCall(std::move(state));
}

void BoundCall::operator()() const {
  const auto &state = *static_cast<const BoundState *>(state_.get());
  if (!state.buffers.empty())
    state.kernel->run_phases(*state.bound, state.buffers.data());
  else if (state.bound)
    state.kernel->execute(*state.bound, state.operands);
  else
    state.kernel->run(state.operands);
}

void Kernel::prepare(std::span<const AnyView> inputs) const {
  const spec::TypedSpec &spec = impl_->typed();
  const jit::Layouts layouts = impl_->allocated_layouts(inputs);
  if (impl_->engine() == Engine::Reference) return;
  std::vector<AnyView> views(inputs.begin(), inputs.end());
  for (std::size_t o = 0; o < spec.outputs.size(); ++o)
    views.push_back({spec.outputs[o].dtype, nullptr, true, layouts.outputs[o]});
  impl_->bind(pointers_to(views));
}

std::vector<Signature> Kernel::infer(std::span<const AnyView> inputs) const {
  const spec::TypedSpec &spec = impl_->typed();
  const jit::Layouts layouts = impl_->allocated_layouts(inputs);
  std::vector<Signature> result;
  for (std::size_t o = 0; o < spec.outputs.size(); ++o) {
    const auto shape = layouts.outputs[o].shape();
    result.push_back({spec.outputs[o].name, spec.outputs[o].dtype, {shape.begin(), shape.end()}});
  }
  return result;
}

std::string Kernel::show(Stage stage, const ShowFormat &format) const {
  return impl_->show(stage, format);
}
std::vector<Decision> Kernel::why() const { return impl_->why(); }
const LoopSpec &Kernel::spec() const { return impl_->spec(); }
Counters Kernel::counters() const { return impl_->counters(); }
int Kernel::threads() const { return impl_->threads(); }

const Array &Results::operator[](std::size_t index) const {
  if (index < arrays_.size()) return arrays_[index].second;
  support::fail("E0304", fmt::format("there is no result {}: there are {}", index, arrays_.size()),
                {}, "count from 0, or ask by name");
}

const Array &Results::operator[](std::string_view name) const {
  std::vector<std::string> names;
  for (const auto &[own, array] : arrays_) {
    if (own == name) return array;
    names.push_back(own);
  }
  support::fail("E0304", fmt::format("there is no result called '{}'", name), {},
                "the results are " + support::quoted_list(names));
}

} // namespace broadloom
