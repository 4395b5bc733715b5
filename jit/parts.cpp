// Calls that are made in parts (kernel/interior.hpp, kernel/by_parts.hpp): which kernels compute them, and what is told of them.
#include "jit/kernel.hpp"

#include "jit/runtime/paths.hpp"
#include "kernel/check.hpp"
#include "kernel/layouts.hpp"
#include "kernel/windows.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

namespace broadloom {

using support::decide;
using support::Reason;

const KernelImpl &KernelImpl::of_part(const kernel::PartId &id) const {
  if (id.kind == kernel::PartKind::Whole) return *this;
  const std::lock_guard lock(mutex_);
  const bool inside = id.kind == kernel::PartKind::Interior;
  PartKernels &known = part_kernels_[id.group];
  std::unique_ptr<const KernelImpl> &made = inside ? known.interior : known.border;
  const kernel::ByParts &group = setup_.by_parts[id.group];
  if (!made)
    made = std::make_unique<const KernelImpl>(setup_.spec, inside ? group.interior : group.border,
                                              setup_.options, setup_.target, setup_.profile,
                                              setup_.threads, 0);
  return *made;
}

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

std::shared_ptr<const kernel::WindowChoice>
KernelImpl::planned_windows(kernel::Operands named) const {
  std::vector<AnyView> operands;
  for (const AnyView *view : named) operands.push_back(*view);
  if (named.size() < setup_.typed.given_inputs()) {
    const kernel::LentOperands lent(setup_.typed, named);
    for (const AnyView *view : lent.all().subspan(named.size())) operands.push_back(*view);
  }
  const kernel::Layouts layouts = layouts_of_given(operands);
  for (std::size_t o = 0; o < setup_.typed.outputs.size(); ++o)
    operands.push_back({setup_.typed.outputs[o].dtype, nullptr, true, layouts.outputs[o]});
  return std::make_shared<const kernel::WindowChoice>(
      kernel::WindowedOperands(setup_.typed, kernel::pointers_to(operands), helpers(),
                               setup_.windows_of_nothing())
          .choice());
}

bool KernelImpl::fills_output() const {
  const auto is_gather = [](const spec::TypedInput &input) {
    return input.window && input.window->is_gather();
  };
  if (setup_.typed.time || setup_.typed.inputs.empty() || !is_gather(setup_.typed.inputs.back()))
    return false;
  if (const auto latest = latest_windows()) return latest->fills_output;
  std::vector<AnyView> inputs;
  for (const Layout &layout : kernel::typical_inputs(setup_.typed))
    inputs.push_back({setup_.typed.inputs[inputs.size()].dtype, nullptr, false, layout});
  return planned_windows(kernel::pointers_to(inputs))->fills_output;
}

std::vector<const KernelImpl *> KernelImpl::latest_kernels() const {
  std::vector<const KernelImpl *> kernels;
  if (!setup_.by_parts.empty())
    if (const auto latest = latest_windows())
      for (const kernel::PartId &id : last_parts(*latest)) kernels.push_back(&of_part(id));
  if (kernels.empty()) kernels.push_back(this);
  return kernels;
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
  const std::vector<kernel::PartId> parts = last_parts(*latest);
  for (const kernel::PartId &id : parts) {
    if (is_whole(id)) {
      if (parts.size() == 1) jit::count(jit::Path::PaddingSplit);
      continue;
    }
    if (!setup_.by_parts[id.group].residues.empty()) jit::count(jit::Path::ResidueClasses);
    if (id.kind == kernel::PartKind::Interior) jit::count(jit::Path::MasksDropped);
  }
}

void KernelImpl::explain_classes(std::vector<Decision> &why) const {
  for (const kernel::ByParts &group : setup_.by_parts) {
    if (group.residues.empty()) continue;
    std::string axes, counts;
    for (std::size_t axis = 0; axis < setup_.typed.axes.size(); ++axis) {
      if (!group.axes.has(int(axis)) || group.steps[axis] == 1) continue;
      axes += (axes.empty() ? "" : ", ") + setup_.typed.axes[axis].name;
      counts += fmt::format("{}{}", counts.empty() ? "" : " x ", group.steps[axis]);
    }
    why.push_back(
        decide(Reason::ResidueClasses, axes, counts + " classes",
               fmt::format("{} in {} classes, of positions that meet the same elements of "
                           "what flows back; shown is the last",
                           axes, counts),
               {{"all positions at once", "most of what is added up would be nothing"}}));
  }
}

void KernelImpl::explain_padding(std::vector<Decision> &why) const {
  if (!setup_.has_windows) return; // a part of a call is told of with the whole
  const std::vector<bool> read = kernel::elements_read(setup_.typed);
  std::string padded;
  for (std::size_t i = 0; i < setup_.typed.inputs.size(); ++i)
    if (const auto &window = setup_.typed.inputs[i].window;
        window && read[i] && kernel::is_guarded(*window))
      padded = setup_.typed.inputs[window->of].name;
  const auto latest = latest_windows();
  const std::size_t parts = latest && latest->split ? latest->parts.size() : 0;
  if (padded.empty()) return;
  if (parts == 1)
    why.push_back(decide(Reason::PaddingSplit, padded, "the array itself",
                         fmt::format("nothing that is read lies in a border: '{}' is read where it "
                                     "lies",
                                     padded),
                         {{"a padded copy", "takes more memory traffic"}}));
  else if (parts > 1)
    why.push_back(decide(Reason::PaddingSplit, padded, "interior and borders",
                         fmt::format("the interior reads '{}' itself, {} around it copies of what "
                                     "they read; shown is the interior",
                                     padded, support::count(std::int64_t(parts) - 1, "part")),
                         {{"a padded copy", "takes more memory traffic"}}));
  else
    why.push_back(decide(Reason::PaddingCopied, padded, "a padded copy",
                         fmt::format("a call copies '{}' with its borders, once for all that is "
                                     "padded alike",
                                     padded),
                         {{"the interior without a copy",
                           "for arrays of 512 KiB and more, where each axis along a border is one "
                           "of the output, and nothing folds, scans or counts along it"}}));
}

} // namespace broadloom
