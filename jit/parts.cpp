// See parts.hpp.
#include "jit/parts.hpp"

#include "jit/runtime/paths.hpp"
#include "kernel/layouts.hpp"

namespace broadloom {
namespace jit {
namespace {

bool is_whole(const kernel::PartId &part) { return part.kind == kernel::PartKind::Whole; }

// The last part of each group.
std::vector<kernel::PartId> last_parts(const kernel::WindowChoice &choice) {
  std::vector<kernel::PartId> latest;
  for (const kernel::WindowChoice::Part &part : choice.parts) {
    const bool goes_on = !latest.empty() && latest.back().group == part.id.group &&
                         is_whole(latest.back()) == is_whole(part.id);
    if (!goes_on)
      latest.push_back(part.id);
    else if (latest.back().kind != kernel::PartKind::Interior)
      latest.back() = part.id;
  }
  return latest;
}

} // namespace

std::vector<AnyView> typical_views(const spec::TypedSpec &typed) {
  std::vector<AnyView> views;
  for (const Layout &layout : kernel::typical_inputs(typed))
    views.push_back({typed.inputs[views.size()].dtype, nullptr, false, layout});
  return views;
}

std::shared_ptr<const kernel::WindowChoice> planned_windows(const KernelImpl &kernel,
                                                            kernel::Operands named) {
  const spec::TypedSpec &typed = kernel.typed();
  std::vector<AnyView> operands;
  for (const AnyView *view : named) operands.push_back(*view);
  if (named.size() < typed.given_inputs()) {
    const kernel::LentOperands lent(typed, named);
    for (const AnyView *view : lent.all().subspan(named.size())) operands.push_back(*view);
  }
  const kernel::Layouts layouts = kernel.layouts_of_given(operands);
  for (std::size_t o = 0; o < typed.outputs.size(); ++o)
    operands.push_back({typed.outputs[o].dtype, nullptr, true, layouts.outputs[o]});
  return std::make_shared<const kernel::WindowChoice>(
      kernel::WindowedOperands(typed, kernel::pointers_to(operands), kernel.helpers(),
                               kernel.setup().windows_of_nothing())
          .choice());
}

bool fills_output(const KernelImpl &kernel) {
  const auto is_gather = [](const spec::TypedInput &input) {
    return input.window && input.window->is_gather();
  };
  const spec::TypedSpec &typed = kernel.typed();
  if (typed.time || typed.inputs.empty() || !is_gather(typed.inputs.back())) return false;
  if (const auto latest = kernel.latest_windows()) return latest->fills_output;
  const std::vector<AnyView> inputs = typical_views(typed);
  return planned_windows(kernel, kernel::pointers_to(inputs))->fills_output;
}

std::vector<const KernelImpl *> latest_kernels(const KernelImpl &kernel) {
  std::vector<const KernelImpl *> kernels;
  if (!kernel.setup().by_parts.empty())
    if (const auto latest = kernel.latest_windows())
      for (const kernel::PartId &id : last_parts(*latest))
        kernels.push_back(&kernel.subs().of_part(id));
  if (kernels.empty()) kernels.push_back(&kernel);
  return kernels;
}

} // namespace jit

std::shared_ptr<const kernel::WindowChoice> KernelImpl::latest_windows() const {
  if (setup_.has_windows) {
    const std::lock_guard lock(mutex_);
    return latest_windows_;
  }
  const auto special = layout_cache_.latest();
  if (!special) return nullptr;
  kernel::WindowChoice choice{.layouts = special->layouts};
  choice.parts.push_back({{}, {}, {}, special->layouts.wanted});
  return std::make_shared<const kernel::WindowChoice>(std::move(choice));
}

void KernelImpl::note_windows(const kernel::WindowedOperands &windowed) const {
  if (!setup_.has_windows) return;
  std::shared_ptr<const kernel::WindowChoice> latest = latest_windows();
  if (!latest || !windowed.has(*latest)) {
    latest = std::make_shared<const kernel::WindowChoice>(windowed.choice());
    const std::lock_guard lock(mutex_);
    latest_windows_ = latest;
  }
  if (setup_.profile != Profile::paths || !latest->split) return;
  const std::vector<kernel::PartId> parts = jit::last_parts(*latest);
  for (const kernel::PartId &id : parts) {
    if (jit::is_whole(id)) {
      if (parts.size() == 1) jit::count(jit::Path::PaddingSplit);
      continue;
    }
    if (!setup_.by_parts[id.group].residues.empty()) jit::count(jit::Path::ResidueClasses);
    if (id.kind == kernel::PartKind::Interior) jit::count(jit::Path::MasksDropped);
  }
}

} // namespace broadloom
