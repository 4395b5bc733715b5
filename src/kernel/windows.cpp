// See windows.hpp.
#include "kernel/windows.hpp"

#include "array/copy.hpp"
#include "kernel/check.hpp"
#include "kernel/overlap.hpp"
#include "kernel/padding.hpp"
#include "kernel/recorded.hpp"
#include "kernel/said.hpp"
#include "kernel/scatter.hpp"
#include "kernel/window_extents.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace broadloom::kernel {

using Kind = calls::Step::Kind;

WindowedOperands::WindowedOperands(const spec::TypedSpec &spec, Operands given, Helpers helpers,
                                   const How &how)
    : spec_(spec), helpers_(std::move(helpers)), kept_rows_(how.kept_rows) {
  const std::size_t count = spec.given_inputs();
  if (count == spec.inputs.size()) { // most kernels have no windows
    operands_.assign(given.begin(), given.end());
    return;
  }
  std::vector<Layout> layouts;
  for (std::size_t i = 0; i < count; ++i) {
    layouts.push_back(given[i]->layout);
    given_.push_back(*given[i]);
  }
  for (const AnyView &view : given_) operands_.push_back(&view);
  Viewer viewer(spec, layouts);
  windows_.reserve(spec.inputs.size() - count); // their addresses are kept
  for (std::size_t i = count; i < spec.inputs.size(); ++i) {
    seen_.push_back(viewer.see(i));
    lies_.push_back(seen_.back().lies);
    windows_.emplace_back(spec.inputs[i].dtype, nullptr, false, seen_.back().layout);
    operands_.push_back(&windows_.back());
  }
  operands_.insert(operands_.end(), given.begin() + std::ptrdiff_t(count), given.end());
  if (!sees_copies(spec)) lies_.clear();
  // Of an array of which copies are read, or parts, it is told here.
  for (std::size_t i = count; i < spec.inputs.size() && is_there(how.elements); ++i) {
    const spec::TypedWindow &window = *spec.inputs[i].window;
    if (!window.is_gather() && !window.sum && viewer.is_read(i) && !has_memory(given_[window.of]))
      check_pointer(spec, window.of, given_[window.of]);
  }
  if (split(viewer, how)) return;
  for (std::size_t i = count; i < spec.inputs.size(); ++i) {
    const AnyView &of = *given[spec.inputs[i].window->of];
    AnyView &window = windows_[i - count];
    if (!spec.inputs[i].window->is_gather() && !spec.inputs[i].window->sum) {
      window = seen_by(of, seen_[i - count]);
      continue;
    }
    if (!viewer.is_read(i) || how.elements == Elements::NotThere) continue;
    if (!spec.inputs[i].window->sum && !viewer.needs_elements(i)) {
      if (how.elements != Elements::Planned && element_count(window.layout) > 0)
        look_at(looked_at_.emplace_back(i, window.layout));
      continue;
    }
    const AnyView *into = how.elements != Elements::Read && !spec.inputs[i].window->sum
                              ? output_of(i, window.layout, given, how.elements)
                              : nullptr;
    if (how.elements == Elements::Planned) {
      filled_ = into != nullptr && element_count(window.layout) > 0;
      continue;
    }
    spec.inputs[i].window->sum ? add_up(i, window.layout, window)
                               : look_up(i, of, seen_[i - count], into, window);
  }
  summed_.clear();
}

AnyView WindowedOperands::seen_by(const AnyView &of, const Seen &seen) {
  AnyView window = of;
  window.layout = seen.layout;
  if (seen.padding && of.data != nullptr) window.data = copy_of(of, *seen.padding).data;
  if (window.data != nullptr)
    window.data = static_cast<char *>(window.data) + seen.offset * std::int64_t(size_of(of.dtype));
  return window;
}

AnyView WindowedOperands::copy_of(AnyView of, Padding padding) {
  const KeptRows *few = nullptr;
  for (const KeptRows &kept : kept_rows_)
    if (kept.input == padding.of) {
      few = &kept;
      of = array::rows_of(of, kept.dim, -kept.first, kept.rows);
      if (!padding.dims.empty()) padding.dims[kept.dim] = {0, kept.rows - 1, 1};
    }
  auto known = std::ranges::find(copies_, padding, &Copy::padding);
  if (known == copies_.end()) {
    Array elements = padded(padding, of);
    record_pad(padding, of, elements);
    copies_.emplace_back(std::move(padding), of, std::move(elements));
    known = copies_.end() - 1;
  }
  const AnyView copy = known->elements;
  return few == nullptr ? copy : array::rows_of(copy, few->dim, few->first, few->rows);
}

// Of a gather of which another is derived: an element may say a position outside.
void WindowedOperands::look_at(const Looked &looked) const {
  check_gathered(spec_, looked.window, operands_, false);
  listed_positions(spec_, looked.window, looked.layout, operands_, helpers_.tasks);
}

void WindowedOperands::look_up(std::size_t window, const AnyView &of, const Seen &seen,
                               const AnyView *into, AnyView &view) {
  if (element_count(seen.layout) == 0) return;
  check_gathered(spec_, window, operands_, true);
  const AnyView from = seen.padding ? copy_of(of, *seen.padding) : of;
  if (into != nullptr) { // only looked at here: nothing is written before all positions are known
    filled_ = true;
    gathered_.emplace_back(window, from,
                           Array(std::shared_ptr<void>(), view.dtype, into->data,
                                 contiguous_layout(view.layout.shape())));
    view.data = into->data;
    return;
  }
  const Made &made =
      gathered_.emplace_back(window, from, Array::to_be_written(view.dtype, seen.layout));
  gather(spec_, window, operands_, from, made.elements, helpers_.tasks);
  view.data = made.elements.raw();
  record_gather(window, view);
}

void WindowedOperands::record_gather(std::size_t window, const AnyView &to) const {
  calls::Recorder *recorder = calls::Recorder::here();
  if (recorder == nullptr) [[likely]]
    return;
  recorder->add({Kind::Gather, {}, {}, {recorded(spec_, spec_.inputs[window].axis_of_dim, to)}});
}

void WindowedOperands::record_sum(std::size_t sum, const AnyView &values) const {
  const std::vector<int> &axes = spec_.inputs[sums_[sum].window].axis_of_dim;
  if (calls::Recorder *recorder = calls::Recorder::here()) [[unlikely]]
    recorder->add(
        {Kind::Scatter, {}, {recorded(spec_, axes, values)}, {{sums_[sum].elements, {}}}});
}

// The output that this gather is all of, if there is one.
const AnyView *WindowedOperands::output_of(std::size_t window, const Layout &layout, Operands given,
                                           Elements elements) const {
  if (spec_.outputs.size() != 1 || window + 1 != spec_.inputs.size()) return nullptr;
  const spec::TypedOutput &output = spec_.outputs[0];
  const expr::Node &value = spec_.graph[output.value];
  const AnyView *view = given.back();
  const bool is_all = value.kind == expr::NodeKind::Input && value.payload == window &&
                      !output.add && output.dtype == spec_.inputs[window].dtype &&
                      output.axes == spec_.inputs[window].axis_of_dim;
  if (!is_all || view == nullptr || view->dtype != output.dtype ||
      !std::ranges::equal(view->layout.shape(), layout.shape()))
    return nullptr;
  const Layout dense = contiguous_layout(layout.shape());
  for (int d = 0; d < dense.rank; ++d)
    if (dense.extents[d] > 1 && dense.strides[d] != view->layout.strides[d]) return nullptr;
  if (elements == Elements::Planned) return view;
  if (!view->writable || !has_memory(*view)) return nullptr;
  for (const AnyView &input : given_)
    if (meet(memory_of(input), memory_of(*view))) return nullptr;
  return view;
}

void WindowedOperands::look() const {
  const Made &made = gathered_.back();
  listed_positions(spec_, made.window, made.elements.layout(), operands_, helpers_.tasks);
}

void WindowedOperands::fill() const {
  const Made &made = gathered_.back();
  record_gather(made.window, made.elements);
  gather(spec_, made.window, operands_, made.from, made.elements, helpers_.tasks);
}

void WindowedOperands::add_up(std::size_t sum, const Layout &layout, AnyView &view) {
  const std::uint32_t window = *spec_.inputs[sum].window->sum;
  if (sums_.empty()) summed_ = helpers_.summed(Operands(operands_).first(given_.size()));
  check_gathered(spec_, window, operands_, false);
  const Made &made =
      sums_.emplace_back(window, AnyView(), Array::to_be_written(view.dtype, layout));
  scatter(spec_, window, operands_, summed_[sums_.size() - 1], made.elements, helpers_.tasks);
  record_sum(sums_.size() - 1, summed_[sums_.size() - 1]);
  view.data = made.elements.raw();
}

// In the order in which they were made: some are copies of others, and what is gathered may be padded.
void WindowedOperands::copy_again() const {
  for (std::size_t k = 0; k < own_.size(); ++k) {
    own_inputs_[k].load();
    record(Kind::Copy, own_inputs_[k].operand(), given_[own_[k]]);
  }
  for (const Copy &copy : copies_) {
    pad_again(copy.padding, copy.of, copy.elements);
    record_pad(copy.padding, copy.of, copy.elements);
  }
  for (const Made &gathered : std::span(gathered_).first(gathered_.size() - filled_)) {
    gather(spec_, gathered.window, operands_, gathered.from, gathered.elements, helpers_.tasks);
    record_gather(gathered.window, gathered.elements);
  }
  for (const Looked &looked : looked_at_) look_at(looked);
  if (sums_.empty()) return;
  const std::vector<Array> summed = helpers_.summed(Operands(operands_).first(given_.size()));
  for (std::size_t s = 0; s < sums_.size(); ++s) {
    scatter(spec_, sums_[s].window, operands_, summed[s], sums_[s].elements, helpers_.tasks);
    record_sum(s, summed[s]);
  }
}

void WindowedOperands::copy_rows_again(std::uint32_t input, std::size_t dim, std::int64_t first,
                                       std::int64_t count) const {
  for (const Copy &copy : copies_) {
    if (copy.padding.of != input) continue;
    pad_rows_again(copy.padding, copy.of, copy.elements, dim, first, count);
    if (calls::Recorder::here() == nullptr) continue;
    const AnyView of = array::rows_of(copy.of, dim, first, count);
    const AnyView to = array::rows_of(copy.elements, dim, first, count);
    record_pad(copy.padding, copy.of, copy.elements, &of, &to);
  }
}

void take_one_position(const spec::TypedSpec &spec, std::size_t input, Layout &layout) {
  const std::vector<int> &axes = spec.inputs[input].axis_of_dim;
  for (std::size_t dim = 0; spec.time && dim < axes.size(); ++dim)
    if (axes[dim] == *spec.time) layout.extents[dim] = 1;
}

void fail_lent(const spec::TypedSpec &spec, const spec::TypedInput &shape) {
  support::fail(
      "E0316",
      fmt::format("output '{}' has the extents of the array that is given for it, and none is",
                  spec.outputs[*shape.of_output].name),
      shape.where,
      "pass one to run or bind; out h = sum(.., like=x[..]) has the extents of an input x");
}

LentOperands::LentOperands(const spec::TypedSpec &spec, Operands named) {
  std::size_t count = spec.given_inputs();
  while (count > 0 && spec.inputs[count - 1].is_lent()) --count;
  operands_.assign(named.begin(), named.begin() + std::ptrdiff_t(count));
  shapes_.reserve(spec.given_inputs() - count);
  for (std::size_t i = count; i < spec.given_inputs(); ++i) {
    const spec::TypedInput &shape = spec.inputs[i];
    if (!shape.said.empty()) {
      const Layout layout = said_layout(shape, operands_);
      operands_.push_back(&shapes_.emplace_back(shape.dtype, nullptr, false, layout));
      continue;
    }
    const AnyView *output = named[count + *shape.of_output];
    if (output == nullptr) fail_lent(spec, shape);
    operands_.push_back(&shapes_.emplace_back(shape.dtype, nullptr, false, output->layout));
  }
  operands_.insert(operands_.end(), named.begin() + std::ptrdiff_t(count), named.end());
}

std::vector<Layout> add_windows(const spec::TypedSpec &spec, std::vector<Layout> &inputs) {
  std::vector<Layout> lies;
  if (spec.given_inputs() == spec.inputs.size()) return lies;
  const std::vector<Layout> given = inputs;
  Viewer viewer(spec, given);
  for (std::size_t i = spec.given_inputs(); i < spec.inputs.size(); ++i) {
    const Seen seen = viewer.see(i);
    inputs.push_back(seen.layout);
    lies.push_back(seen.lies);
  }
  if (!sees_copies(spec)) lies.clear();
  return lies;
}

} // namespace broadloom::kernel
