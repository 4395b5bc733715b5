// Calls that are made in parts (kernel/interior.hpp, kernel/by_parts.hpp): which kernels compute them, and what is told of them.
#include "jit/kernel.hpp"

#include "jit/runtime/paths.hpp"
#include "kernel/check.hpp"
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

std::vector<const KernelImpl *> KernelImpl::latest_kernels() const {
  std::vector<kernel::PartId> ids;
  {
    const std::lock_guard lock(mutex_);
    ids = latest_ids_;
  }
  std::vector<const KernelImpl *> kernels;
  for (const kernel::PartId &id : ids) kernels.push_back(&of_part(id));
  if (kernels.empty()) kernels.push_back(this);
  return kernels;
}

void KernelImpl::note_parts(const kernel::WindowedOperands &windowed) const {
  const std::size_t count = windowed.parts();
  latest_parts_.store(count, std::memory_order_relaxed);
  if (count == 0 && by_parts_.empty()) return;
  std::vector<kernel::PartId> latest; // the last of each group
  for (std::size_t c = 0; c < windowed.calls(); ++c) {
    const kernel::PartId id = windowed.part(c);
    const auto is_whole = [](const kernel::PartId &part) {
      return part.kind == kernel::PartKind::Whole;
    };
    const bool goes_on = !latest.empty() && latest.back().group == id.group &&
                         is_whole(latest.back()) == is_whole(id);
    if (!goes_on)
      latest.push_back(id);
    else if (latest.back().kind != kernel::PartKind::Interior)
      latest.back() = id;
  }
  if (profile_ == Profile::paths && count > 0)
    for (const kernel::PartId &id : latest) {
      if (id.kind == kernel::PartKind::Whole) {
        if (latest.size() == 1) jit::count(jit::Path::PaddingSplit);
        continue;
      }
      if (!by_parts_[id.group].residues.empty()) jit::count(jit::Path::ResidueClasses);
      if (id.kind == kernel::PartKind::Interior) jit::count(jit::Path::MasksDropped);
    }
  const std::lock_guard lock(mutex_);
  latest_ids_ = std::move(latest);
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
  const std::size_t parts = latest_parts_.load(std::memory_order_relaxed);
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
