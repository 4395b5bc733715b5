// The public face of a kernel: arguments by position or by name, allocated outputs.
#include "jit/call/kernel.hpp"

#include "jit/api/public_call.hpp"
#include "jit/call/choose_call.hpp"
#include "jit/call/fold_blocks.hpp"
#include "jit/call/frozen.hpp"
#include "jit/call/run_call.hpp"
#include "jit/runtime/small.hpp"
#include "jit/show/predict.hpp"
#include "jit/show/show.hpp"
#include "jit/show/shown.hpp"
#include "jit/show/why.hpp"
#include "kernel/layouts.hpp"
#include "support/fail.hpp"
#include "support/out_of_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom {
namespace {

using Pointers = jit::Small<const AnyView *, jit::few_operands>;

using kernel::pointers_to;

// Whether these are all operands, in declared order: as most calls name them, and then nothing is
// looked up.
bool are_in_order(const jit::Setup &setup, std::span<const NamedView> inputs,
                  std::span<const NamedView> outputs) {
  const auto has_name = [](const NamedView &given, const auto &declared) {
    return given.name == declared.name;
  };
  return setup.takes(inputs.size(), outputs.size()) &&
         std::ranges::equal(inputs, std::span(setup.typed.inputs).first(inputs.size()), has_name) &&
         std::ranges::equal(outputs, setup.typed.outputs, has_name);
}

} // namespace

const std::shared_ptr<const KernelImpl> &Kernel::impl() const {
  if (!impl_)
    support::fail("E0317", "this kernel is empty", {}, "assign one that bl::compile has made");
  return impl_;
}
void Kernel::run(std::span<const AnyView> inputs, std::span<const AnyView> outputs, Line line) const
    try {
  const jit::runtime::ThreadCap cap(most_threads_);
  std::vector<AnyView> all;
  if (frozen_) inputs = all = frozen_->all(impl()->typed(), inputs);
  if (!impl()->setup().takes(inputs.size(), outputs.size())) [[unlikely]]
    kernel::check_counts(impl()->typed(), inputs.size(), outputs.size());
  const std::size_t count = inputs.size() + outputs.size();
  Pointers operands(count);
  std::size_t k = 0;
  for (const AnyView &view : inputs) operands[k++] = &view;
  for (const AnyView &view : outputs) operands[k++] = &view;
  impl()->run({operands.data(), count});
} catch (const std::exception &) {
  rethrow(impl_.get(), line);
}

void Kernel::run_named(std::span<const NamedView> inputs, std::span<const NamedView> outputs,
                       Line line) const try {
  const jit::runtime::ThreadCap cap(most_threads_);
  std::vector<NamedView> all;
  if (frozen_) inputs = all = frozen_->all(inputs);
  const KernelImpl &kernel = *impl();
  if (!are_in_order(kernel.setup(), inputs, outputs)) [[unlikely]]
    return kernel.run(kernel::by_name(kernel.typed(), kernel.setup().names, inputs, outputs));
  const std::size_t count = inputs.size() + outputs.size();
  Pointers operands(count);
  std::size_t k = 0;
  for (const NamedView &named : inputs) operands[k++] = &named.view;
  for (const NamedView &named : outputs) operands[k++] = &named.view;
  kernel.run({operands.data(), count});
} catch (const std::exception &) {
  rethrow(impl_.get(), line);
}

Results Kernel::call(std::span<const NamedView> inputs, Order store, Line line) const try {
  const jit::runtime::ThreadCap cap(most_threads_);
  return impl()->call(in_order(*impl(), frozen_.get(), inputs), store);
} catch (const std::exception &) {
  rethrow(impl_.get(), line);
}

static void prepare_for(const KernelImpl &impl, const std::vector<AnyView> &inputs) {
  const spec::TypedSpec &spec = impl.typed();
  const kernel::Layouts layouts = impl.allocated_layouts(inputs);
  if (impl.setup().engine == Engine::reference) return;
  std::vector<AnyView> operands = inputs;
  for (std::size_t o = 0; o < spec.outputs.size(); ++o)
    operands.push_back({spec.outputs[o].dtype, nullptr, true, layouts.outputs[o]});
  const std::shared_ptr<const jit::CallPlan> plan =
      jit::choose_call(impl.nests(), pointers_to(operands), {}, jit::Purpose::Run);
  jit::prepare_call(*plan);
  if (!impl.setup().is_plain) impl.plans().add(plan);
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
    const Layout &layout = layouts.outputs[o];
    const auto shape = layout.shape();
    result.push_back({spec.outputs[o].name,
                      spec.outputs[o].dtype,
                      {shape.begin(), shape.end()},
                      {layout.strides.begin(), layout.strides.begin() + layout.rank}});
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
                     impl()->setup().spec.data().outputs[o].mode.kind, output.add, output.where,
                     output.update});
  }
  return infos;
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::string Kernel::show(Stage stage, const ShowFormat &format) const {
  return jit::show(*impl(), stage, format);
}
std::vector<Decision> Kernel::why() const { return jit::why(*impl()); }
const LoopSpec &Kernel::spec() const { return impl()->setup().spec; }
Counters Kernel::counters() const { return impl()->counters(); }
Prediction Kernel::predict() const try {
  return jit::predict(*impl());
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}
Engine Kernel::engine() const { return jit::engine_used(impl()->nests().rest); }
int Kernel::threads() const {
  return most_threads_ > 0 ? std::min(most_threads_, impl()->setup().threads)
                           : impl()->setup().threads;
}
Kernel Kernel::with_threads(int most) const {
  if (most < 0)
    support::fail("E0321", fmt::format("a call cannot run on {} threads", most), {},
                  "give a number from 1 on, or 0 for as many as the kernel was compiled for");
  return Kernel(impl(), frozen_, most);
}

// Blocks of the data: see fold_blocks.hpp.
std::int64_t Kernel::unit(std::string_view axis, std::span<const NamedView> inputs) const try {
  return jit::fold_blocks(*impl(), std::string(axis))
      ->unit(in_order(*impl(), frozen_.get(), inputs));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Partial Kernel::partial(std::string_view axis, std::int64_t offset,
                        std::span<const NamedView> inputs) const try {
  const jit::runtime::ThreadCap cap(most_threads_);
  return jit::fold_blocks(*impl(), std::string(axis))
      ->partial(offset, in_order(*impl(), frozen_.get(), inputs));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Partial Kernel::partial(const Partial &before, std::int64_t offset,
                        std::span<const NamedView> inputs) const try {
  const jit::runtime::ThreadCap cap(most_threads_);
  return jit::fold_blocks(*impl(), before.axis)
      ->partial(before, offset, in_order(*impl(), frozen_.get(), inputs));
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

int Kernel::rounds(std::string_view axis) const try {
  return jit::fold_blocks(*impl(), std::string(axis))->rounds();
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

Partial Kernel::join(std::span<const Partial> blocks) const try {
  if (blocks.empty())
    support::fail("E0151", "there are no blocks of kernel '" + impl()->typed().name + "' to join",
                  {}, "give at least one that has positions");
  const jit::runtime::ThreadCap cap(most_threads_);
  return jit::fold_blocks(*impl(), blocks.front().axis)->join(blocks);
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
  return jit::fold_blocks(*impl(), blocks.front().axis)->combine(blocks, offset, inputs);
} catch (const std::bad_alloc &) {
  support::out_of_memory();
}

std::string Kernel::why_no_map(std::string_view axis) const {
  return rewrite::why_no_map(rewrite::with_walked_dims(impl()->setup().whole()), std::string(axis));
}

} // namespace broadloom
