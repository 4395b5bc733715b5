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
  const kernel::ByParts &group = by_parts_[id.group];
  if (!made)
    made = std::make_unique<const KernelImpl>(spec_, inside ? group.interior : group.border,
                                              options_, target_, profile_, threads_, 0);
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
  if (has_windows_) {
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
  if (named.size() < typed_.given_inputs()) {
    const kernel::LentOperands lent(typed_, named);
    for (const AnyView *view : lent.all().subspan(named.size())) operands.push_back(*view);
  }
  const kernel::Layouts layouts = layouts_of_given(operands);
  for (std::size_t o = 0; o < typed_.outputs.size(); ++o)
    operands.push_back({typed_.outputs[o].dtype, nullptr, true, layouts.outputs[o]});
  return std::make_shared<const kernel::WindowChoice>(
      kernel::WindowedOperands(typed_, kernel::pointers_to(operands), helpers(),
                               windows_of_nothing())
          .choice());
}

bool KernelImpl::fills_output() const {
  const auto is_gather = [](const spec::TypedInput &input) {
    return input.window && input.window->is_gather();
  };
  if (typed_.time || typed_.inputs.empty() || !is_gather(typed_.inputs.back())) return false;
  if (const auto latest = latest_windows()) return latest->fills_output;
  std::vector<AnyView> inputs;
  for (const Layout &layout : kernel::typical_inputs(typed_))
    inputs.push_back({typed_.inputs[inputs.size()].dtype, nullptr, false, layout});
  return planned_windows(kernel::pointers_to(inputs))->fills_output;
}

std::vector<const KernelImpl *> KernelImpl::latest_kernels() const {
  std::vector<const KernelImpl *> kernels;
  if (!by_parts_.empty())
    if (const auto latest = latest_windows())
      for (const kernel::PartId &id : last_parts(*latest)) kernels.push_back(&of_part(id));
  if (kernels.empty()) kernels.push_back(this);
  return kernels;
}

void KernelImpl::note_windows(const kernel::WindowedOperands &windowed) const {
  if (!has_windows_) return;
  std::shared_ptr<const kernel::WindowChoice> latest = latest_windows();
  if (!latest || !windowed.has(*latest)) {
    latest = std::make_shared<const kernel::WindowChoice>(windowed.choice());
    const std::lock_guard lock(mutex_);
    latest_windows_ = latest;
  }
  if (profile_ != Profile::paths || !latest->split) return;
  const std::vector<kernel::PartId> parts = last_parts(*latest);
  for (const kernel::PartId &id : parts) {
    if (is_whole(id)) {
      if (parts.size() == 1) jit::count(jit::Path::PaddingSplit);
      continue;
    }
    if (!by_parts_[id.group].residues.empty()) jit::count(jit::Path::ResidueClasses);
    if (id.kind == kernel::PartKind::Interior) jit::count(jit::Path::MasksDropped);
  }
}

void KernelImpl::explain_classes(std::vector<Decision> &why) const {
  for (const kernel::ByParts &group : by_parts_) {
    if (group.residues.empty()) continue;
    std::string axes, counts;
    for (std::size_t axis = 0; axis < typed_.axes.size(); ++axis) {
      if (!group.axes.has(int(axis)) || group.steps[axis] == 1) continue;
      axes += (axes.empty() ? "" : ", ") + typed_.axes[axis].name;
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
  if (!has_windows_) return; // a part of a call is told of with the whole
  const std::vector<bool> read = kernel::elements_read(typed_);
  std::string padded;
  for (std::size_t i = 0; i < typed_.inputs.size(); ++i)
    if (const auto &window = typed_.inputs[i].window;
        window && read[i] && kernel::is_guarded(*window))
      padded = typed_.inputs[window->of].name;
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
