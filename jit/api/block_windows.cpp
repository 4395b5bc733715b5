// See block_windows.hpp.
#include "jit/api/block_windows.hpp"

#include "array/layout.hpp"
#include "kernel/gather.hpp"
#include "kernel/operands.hpp"
#include "kernel/padding.hpp"

namespace broadloom::jit {

BlockWindows::BlockWindows(const spec::TypedSpec &typed, std::vector<AnyView> given,
                           const kernel::Box &box, const Setup &setup)
    : typed_(typed), box_(box), setup_(setup), views_(std::move(given)) {
  const std::vector<Layout> layouts = array::layouts_of(views_);
  kernel::Viewer viewer(typed, layouts);
  for (std::size_t w = views_.size(); w < typed_.inputs.size(); ++w) {
    const kernel::Seen seen = viewer.see(w, &box_);
    views_.push_back(typed_.inputs[w].window->is_gather() ? gathered(viewer, w, seen)
                                                          : viewed(w, seen));
  }
}

// A copy of the elements that a padding shows: those of a box, or all.
AnyView BlockWindows::padded(const kernel::Padding &padding, const AnyView &of) {
  const Array &copy = copies_.emplace_back(
      Array::to_be_written(of.dtype, kernel::padded_layout(padding, of.layout)));
  kernel::pad(padding, of, copy);
  return copy;
}

AnyView BlockWindows::viewed(std::size_t window, const kernel::Seen &seen) {
  AnyView of = views_[typed_.inputs[window].window->of];
  if (seen.padding) of = padded(*seen.padding, of);
  AnyView view = of;
  view.layout = seen.layout;
  if (view.data != nullptr)
    view.data = static_cast<char *>(view.data) + seen.offset * std::int64_t(size_of(of.dtype));
  return view;
}

// Its positions are counted from the first of the block.
AnyView BlockWindows::gathered(kernel::Viewer &viewer, std::size_t window,
                               const kernel::Seen &seen) {
  AnyView of = views_[typed_.inputs[window].window->of];
  const Array &copy =
      copies_.emplace_back(Array::to_be_written(of.dtype, contiguous_layout(seen.layout.shape())));
  if (!viewer.is_read(window)) return copy;
  if (seen.padding) of = padded(*seen.padding, of);
  if (!shifted_) shifted_.emplace(typed_);
  for (auto &form : shifted_->inputs[window].window->forms)
    for (const auto &term : form.terms)
      form.start += term.times * box_[std::size_t(term.axis)].first;
  const std::vector<const AnyView *> operands = kernel::pointers_to(views_);
  kernel::gather(*shifted_, window, operands, of, copy,
                 [&](std::int64_t count, const std::function<void(std::int64_t)> &task) {
                   runtime::run_tasks(setup_.workers_now(), count, task);
                 });
  return copy;
}

} // namespace broadloom::jit
