// See windows.hpp.
#include "kernel/windows.hpp"

#include "array/copy.hpp"
#include "kernel/check.hpp"
#include "kernel/overlap.hpp"
#include "kernel/padding.hpp"
#include "kernel/said.hpp"
#include "kernel/scatter.hpp"
#include "kernel/window_extents.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace broadloom::kernel {
namespace {

using spec::TypedWindow;
using Wide = __int128; // positions: multiples times extents

// [input]: must its positions be looked at? Those of gathers that are read, or of which one is derived that is.
std::vector<bool> looked_up(const spec::TypedSpec &spec) {
  std::vector<bool> looked = elements_read(spec);
  for (std::size_t i = spec.inputs.size(); i-- > 0;) {
    if (!spec.inputs[i].window || !looked[i]) continue;
    const TypedWindow &window = *spec.inputs[i].window;
    if (window.sum)
      for (const TypedWindow::Form &form : spec.inputs[*window.sum].window->forms)
        for (const TypedWindow::Index &index : form.indices) looked[index.input] = true;
    if (window.is_gather() && window.derived) looked[window.derived_from] = true;
    for (const TypedWindow::Form &form : window.forms)
      for (const TypedWindow::Index &index : form.indices) looked[index.input] = true;
  }
  return looked;
}

// What all windows of a call are seen by.
class Viewer {
public:
  Viewer(const spec::TypedSpec &spec, std::span<const Layout> given)
      : spec_(spec), given_(given), read_(looked_up(spec)), extents_(window_extents(spec, given)) {}

  Seen see(std::size_t index) {
    index_ = index;
    fits_ = true;
    Seen seen;
    seen.layout = shape();
    const spec::TypedInput &input = spec_.inputs[index];
    const TypedWindow &window = *input.window;
    const bool empty = is_empty(seen.layout);
    Layout of = given_[window.of];
    if (window.is_gather() || window.sum) {
      seen.layout = contiguous_layout(seen.layout.shape());
      if (!window.pads.empty() && !empty && read_[index])
        seen.padding = {window.of, window.pads, {}};
      return seen;
    }
    if (window.needs_zeros() || !window.pads.empty()) {
      if (empty || !read_[index]) return seen; // its extents are all that matters
      seen.padding.emplace();
      seen.padding->of = window.of;
      seen.padding->pads = window.pads;
      if (!window.pads.empty()) of = bordered_layout(window.pads, of);
    }
    if (window.needs_zeros()) {
      seen.padding->dims = positions(seen.layout);
      of = padded_layout(*seen.padding, of);
    }
    for (std::size_t k = 0; k < input.axis_of_dim.size(); ++k)
      for (std::size_t dim = 0; dim < window.forms.size() && seen.layout.extents[k] > 1;
           ++dim) // else it might be any number
        for (const TypedWindow::Term &term : window.forms[dim].terms)
          if (term.axis == input.axis_of_dim[k] && !stands(dim))
            add(seen.layout.strides[k], term.times, of.strides[dim]);
    for (std::size_t dim = 0; dim < window.forms.size() && !empty; ++dim) {
      const std::int64_t first = window.needs_zeros() ? seen.padding->dims[dim].first : 0;
      add(seen.offset, whole(start(dim) - first), of.strides[dim]);
    }
    std::int64_t bytes = 0;
    fits_ =
        fits_ && !__builtin_mul_overflow(seen.offset, std::int64_t(size_of(input.dtype)), &bytes);
    if (!fits_) fail_size();
    return seen;
  }

private:
  Layout shape() const {
    const spec::TypedInput &input = spec_.inputs[index_];
    const TypedWindow &window = *input.window;
    Layout layout;
    layout.rank = int(input.axis_of_dim.size());
    for (std::size_t k = 0; k < input.axis_of_dim.size(); ++k) {
      const int axis = input.axis_of_dim[k];
      if (window.derived) {
        const TypedWindow::ExtentOf &from = window.extents[k];
        layout.extents[k] = from.number >= 0 ? from.number
                            : from.axis >= 0 ? extents_[std::size_t(from.axis)]
                                             : given_[from.input].extents[std::size_t(from.dim)];
        continue;
      }
      layout.extents[k] = extents_[std::size_t(axis)];
    }
    return layout;
  }

  // Whether the dim is a 1 that is read at its only position throughout.
  bool stands(std::size_t dim) const {
    const TypedWindow &window = *spec_.inputs[index_].window;
    return window.forms[dim].stretches && given_[window.of].extents[dim] == 1;
  }

  Wide start(std::size_t dim) const {
    if (stands(dim)) return 0;
    const TypedWindow &window = *spec_.inputs[index_].window;
    return start_of(window.forms[dim], window.padded(int(dim), given_[window.of].extents[dim]),
                    [&](std::uint32_t input, std::size_t d) { return given_[input].extents[d]; });
  }

  // All that it looks at, along each dim.
  std::vector<Padding::Dim> positions(const Layout &shape) {
    const spec::TypedInput &input = spec_.inputs[index_];
    const TypedWindow &window = *input.window;
    std::vector<Padding::Dim> dims;
    for (std::size_t dim = 0; dim < window.forms.size(); ++dim) {
      Wide least = start(dim), most = least;
      for (const TypedWindow::Term &term : window.forms[dim].terms) {
        if (stands(dim)) continue;
        const auto k = std::find(input.axis_of_dim.begin(), input.axis_of_dim.end(), term.axis) -
                       input.axis_of_dim.begin();
        const Wide last = Wide(term.times) * (shape.extents[std::size_t(k)] - 1);
        (last > 0 ? most : least) += last;
      }
      dims.push_back({whole(least), whole(most), window.forms[dim].divisor});
    }
    if (!fits_) fail_size();
    return dims;
  }

  std::int64_t whole(Wide number) {
    constexpr Wide limit = Wide(1) << 61; // as of extents and strides
    fits_ = fits_ && number > -limit && number < limit;
    return fits_ ? std::int64_t(number) : 0;
  }
  void add(std::int64_t &sum, std::int64_t times, std::int64_t stride) {
    std::int64_t product = 0;
    fits_ = fits_ && !__builtin_mul_overflow(times, stride, &product) &&
            !__builtin_add_overflow(sum, product, &sum);
  }
  [[noreturn]] void fail_size() const {
    support::fail(
        "E0112", fmt::format("the strides of {} leave the range of i64", spec_.inputs[index_].name),
        spec_.inputs[index_].where, "use smaller multiples");
  }
  static bool is_empty(const Layout &layout) {
    return std::any_of(layout.shape().begin(), layout.shape().end(),
                       [](std::int64_t extent) { return extent == 0; });
  }

  const spec::TypedSpec &spec_;
  std::span<const Layout> given_;
  const std::vector<bool> read_; // [input]: are its elements read, by the kernel or by a gather?
  const std::vector<std::int64_t> extents_; // [axis]
  std::size_t index_ = 0;
  bool fits_ = true;
};

} // namespace

WindowedOperands::WindowedOperands(const spec::TypedSpec &spec, Operands given, Helpers helpers,
                                   Elements elements)
    : spec_(spec), helpers_(std::move(helpers)) {
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
  const std::vector<bool> looked = looked_up(spec);
  for (std::size_t i = count; i < spec.inputs.size(); ++i) {
    const AnyView &of = *given[spec.inputs[i].window->of];
    const Seen seen = viewer.see(i);
    AnyView window = of;
    window.layout = seen.layout;
    if (spec.inputs[i].window->is_gather() || spec.inputs[i].window->sum) {
      window.data = nullptr;
      window.dtype = spec.inputs[i].dtype;
      if (looked[i] && elements != Elements::NotThere) {
        const AnyView *into =
            elements == Elements::ReadInto ? output_of(i, seen.layout, given) : nullptr;
        spec.inputs[i].window->sum ? add_up(i, seen.layout, window)
                                   : look_up(i, of, seen, into, window);
      }
      operands_.push_back(&windows_.emplace_back(window));
      continue;
    }
    if (seen.padding && of.data != nullptr) window.data = copy_of(of, *seen.padding).data;
    if (window.data != nullptr)
      window.data =
          static_cast<char *>(window.data) + seen.offset * std::int64_t(size_of(of.dtype));
    operands_.push_back(&windows_.emplace_back(window));
  }
  summed_.clear();
  operands_.insert(operands_.end(), given.begin() + std::ptrdiff_t(count), given.end());
}

AnyView WindowedOperands::copy_of(const AnyView &view, const Padding &padding) {
  for (const Copy &copy : copies_)
    if (copy.padding == padding) return copy.elements;
  if (padding.dims.empty()) {
    copies_.push_back({padding, view, bordered(padding.pads, view)});
  } else { // zeros around the borders
    const AnyView of = padding.pads.empty() ? view : copy_of(view, {padding.of, padding.pads, {}});
    copies_.push_back({padding, of, padded(padding, of)});
  }
  return copies_.back().elements;
}

// Reads a gather; where nobody reads its elements, its positions only.
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
}

// The output that this gather is all of, if there is one.
const AnyView *WindowedOperands::output_of(std::size_t window, const Layout &layout,
                                           Operands given) const {
  if (spec_.outputs.size() != 1 || window + 1 != spec_.inputs.size()) return nullptr;
  const spec::TypedOutput &output = spec_.outputs[0];
  const expr::Node &value = spec_.graph[output.value];
  const AnyView *view = given.back();
  const bool is_all = value.kind == expr::NodeKind::Input && value.payload == window &&
                      !output.add && output.dtype == spec_.inputs[window].dtype &&
                      output.axes == spec_.inputs[window].axis_of_dim;
  if (!is_all || view == nullptr || view->data == nullptr || !view->writable ||
      view->dtype != output.dtype || !std::ranges::equal(view->layout.shape(), layout.shape()) ||
      reinterpret_cast<std::uintptr_t>(view->data) % size_of(view->dtype) != 0)
    return nullptr;
  const Layout dense = contiguous_layout(layout.shape());
  for (int d = 0; d < dense.rank; ++d)
    if (dense.extents[d] > 1 && dense.strides[d] != view->layout.strides[d]) return nullptr;
  const auto span = [](const AnyView &of) {
    return span_of(of.data, reach_of(of.layout, of.dtype));
  };
  for (const AnyView &input : given_)
    if (meet(span(input), span(*view))) return nullptr;
  return view;
}

void WindowedOperands::look() const {
  const Made &made = gathered_.back();
  listed_positions(spec_, made.window, made.elements.layout(), operands_, helpers_.tasks);
}

void WindowedOperands::fill() const {
  const Made &made = gathered_.back();
  gather(spec_, made.window, operands_, made.from, made.elements, helpers_.tasks);
}

void WindowedOperands::add_up(std::size_t sum, const Layout &layout, AnyView &view) {
  const std::uint32_t window = *spec_.inputs[sum].window->sum;
  if (sums_.empty()) summed_ = helpers_.summed(Operands(operands_).first(given_.size()));
  check_gathered(spec_, window, operands_, false);
  const Made &made =
      sums_.emplace_back(window, AnyView(), Array::to_be_written(view.dtype, layout));
  scatter(spec_, window, operands_, summed_[sums_.size() - 1], made.elements, helpers_.tasks);
  view.data = made.elements.raw();
}

// In the order in which they were made: some are copies of others, and what is gathered may be padded.
void WindowedOperands::copy_again() const {
  for (const Copy &copy : copies_)
    copy.padding.dims.empty() ? border_again(copy.padding.pads, copy.of, copy.elements)
                              : pad_again(copy.padding, copy.of, copy.elements);
  for (const Made &gathered : std::span(gathered_).first(gathered_.size() - filled_))
    gather(spec_, gathered.window, operands_, gathered.from, gathered.elements, helpers_.tasks);
  if (sums_.empty()) return;
  const std::vector<Array> summed = helpers_.summed(Operands(operands_).first(given_.size()));
  for (std::size_t s = 0; s < sums_.size(); ++s)
    scatter(spec_, sums_[s].window, operands_, summed[s], sums_[s].elements, helpers_.tasks);
}

void WindowedOperands::copy_rows_again(std::uint32_t input, std::size_t dim, std::int64_t first,
                                       std::int64_t count) const {
  for (const Copy &copy : copies_) {
    if (copy.padding.of != input) continue;
    if (copy.padding.dims.empty())
      border_again(copy.padding.pads, array::rows_of(copy.of, dim, first, count),
                   array::rows_of(copy.elements, dim, first, count));
    else
      pad_rows_again(copy.padding, copy.of, copy.elements, {dim, first, count});
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

void add_windows(const spec::TypedSpec &spec, std::vector<Layout> &inputs) {
  if (spec.given_inputs() == spec.inputs.size()) return;
  const std::vector<Layout> given = inputs;
  Viewer viewer(spec, given);
  for (std::size_t i = spec.given_inputs(); i < spec.inputs.size(); ++i)
    inputs.push_back(viewer.see(i).layout);
}

} // namespace broadloom::kernel
