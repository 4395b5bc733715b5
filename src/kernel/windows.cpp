// See windows.hpp.
#include "kernel/windows.hpp"

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

// The extents of the axes that windows walk, one after the other: an axis whose forms have no other unknown axis is known next.
class ExtentFinder {
public:
  ExtentFinder(const spec::TypedSpec &spec, std::span<const Layout> given)
      : spec_(spec), given_(given), in_sums_(spec.axes_in_sums()), extents_(spec.axes.size()) {}

  std::vector<std::int64_t> run() {
    take_labels();
    take_dims();
    check_dims();
    while (std::optional<int> axis = next_unknown()) extents_[std::size_t(*axis)] = greatest(*axis);
    check_reads();
    std::vector<std::int64_t> extents;
    for (const std::optional<std::int64_t> &extent : extents_) extents.push_back(extent.value_or(1));
    return extents;
  }

private:
  // What a form reads, at the known axes: from `least` to `greatest`.
  struct Span {
    Wide least = 0, greatest = 0;
  };

  template <class Visit> void for_each_form(Visit visit) const {
    for (std::size_t i = given_.size(); i < spec_.inputs.size(); ++i) {
      const TypedWindow &window = *spec_.inputs[i].window;
      for (std::size_t dim = 0; dim < window.forms.size(); ++dim)
        visit(i, window.forms[dim], dim, given_[window.of].extents[dim]);
    }
  }

  void take_labels() {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const spec::TypedInput &input = spec_.inputs[i];
      for (std::size_t dim = 0; dim < input.axis_of_dim.size(); ++dim) {
        const std::int64_t extent = given_[i].extents[dim];
        if (input.extents[dim] >= 0 && extent != input.extents[dim])
          spec::fail_declared_extent(input, int(dim), extent); // before what follows from it
        if (input.labelled && !input.may_stretch[dim])
          take(input.axis_of_dim[dim], extent, {i, dim, extent});
      }
    }
  }
  void take_dims() {
    for_each_form([&](std::size_t i, const TypedWindow::Form &form, std::size_t dim, std::int64_t count) {
      if (is_label(form)) take(form.terms[0].axis, count, {i, dim, count});
    });
  }
  void take(int axis, std::int64_t extent, const spec::DimExtent &by) {
    if (knows(axis)) return;
    extents_[std::size_t(axis)] = extent;
    taken_by_.emplace(axis, by);
  }
  bool is_label(const TypedWindow::Form &form) const {
    return form.is_axis() && !in_sums_.has(form.terms[0].axis);
  }

  // Dims whose label is one axis have one extent, as those of declared labels.
  void check_dims() const {
    for_each_form([&](std::size_t i, const TypedWindow::Form &form, std::size_t dim, std::int64_t count) {
      if (!is_label(form) || *extents_[std::size_t(form.terms[0].axis)] == count) return;
      const spec::DimExtent &by = taken_by_.at(form.terms[0].axis);
      support::fail("E0102",
                    fmt::format("axis '{}' has {} by {}, and {} by {}",
                                spec_.axes[std::size_t(form.terms[0].axis)].name,
                                support::count(by.extent, "element"), shown(by),
                                support::count(count, "element"), shown({i, dim, count})),
                    spec_.inputs[i].where,
                    "an axis that stands alone at positions has the extent of the dim");
    });
  }

  // "x[i, i] (dim 1 of 'x')", or "the declaration of 'w'".
  std::string shown(const spec::DimExtent &at) const {
    const spec::TypedInput &input = spec_.inputs[at.input];
    if (!input.window) return fmt::format("the declaration of '{}'", input.name);
    return fmt::format("{} (dim {} of '{}')", input.name, at.dim,
                       spec_.inputs[input.window->of].name);
  }

  bool knows(int axis) const { return extents_[std::size_t(axis)].has_value(); }
  int unknown_of(const TypedWindow::Form &form) const {
    return int(std::count_if(form.terms.begin(), form.terms.end(),
                             [&](const TypedWindow::Term &term) { return !knows(term.axis); }));
  }
  static const TypedWindow::Term *term_of(const TypedWindow::Form &form, int axis) {
    for (const TypedWindow::Term &term : form.terms)
      if (term.axis == axis) return &term;
    return nullptr;
  }

  // An axis all of whose forms have no other unknown axis; else one with such a form; nothing where all are known.
  std::optional<int> next_unknown() const {
    std::optional<int> with_some;
    for (int axis = 0; axis < int(extents_.size()); ++axis) {
      if (knows(axis)) continue;
      bool some = false, all = true;
      for_each_form([&](std::size_t, const TypedWindow::Form &form, std::size_t, std::int64_t) {
        if (term_of(form, axis) == nullptr) return;
        const bool alone = unknown_of(form) == 1;
        some = some || alone;
        all = all && alone;
      });
      if (some && all) return axis;
      if (some && !with_some) with_some = axis;
    }
    return with_some; // the analysis has seen that all become known (E0141)
  }

  Span span_of(const TypedWindow::Form &form, std::int64_t count) const {
    Span span;
    span.least = span.greatest = Wide(form.start) + (form.from_end ? count : 0);
    for (const TypedWindow::Term &term : form.terms) {
      if (!knows(term.axis)) continue;
      const Wide last = Wide(term.times) * std::max<std::int64_t>(*extents_[std::size_t(term.axis)] - 1, 0);
      (last > 0 ? span.greatest : span.least) += last;
    }
    return span;
  }

  std::int64_t greatest(int axis) const {
    std::optional<std::int64_t> most;
    for_each_form([&](std::size_t i, const TypedWindow::Form &form, std::size_t dim, std::int64_t count) {
      const TypedWindow::Term *term = term_of(form, axis);
      if (term == nullptr || unknown_of(form) > 1) return;
      const Span span = span_of(form, count);
      std::int64_t fit = 0;
      if (count > 0) {
        if (span.least < 0 || span.greatest >= count) fail_outside(i, dim, span, count);
        const Wide room = term->times > 0 ? count - 1 - span.greatest : span.least;
        const Wide step = term->times > 0 ? Wide(term->times) : -Wide(term->times);
        fit = std::int64_t(room / step) + 1;
      }
      most = std::min(most.value_or(fit), fit);
    });
    return most.value_or(1);
  }

  void check_reads() const {
    for_each_form([&](std::size_t i, const TypedWindow::Form &form, std::size_t dim, std::int64_t count) {
      const std::vector<int> &axes = spec_.inputs[i].axis_of_dim;
      if (std::any_of(axes.begin(), axes.end(),
                      [&](int axis) { return extents_[std::size_t(axis)] == 0; }))
        return; // nothing is read
      const Span span = span_of(form, count);
      if (span.least < 0 || span.greatest >= count) fail_outside(i, dim, span, count);
    });
  }

  [[noreturn]] void fail_outside(std::size_t input, std::size_t dim, const Span &span,
                                 std::int64_t count) const {
    const spec::TypedInput &window = spec_.inputs[input];
    const auto shown = [](Wide position) { // most fit; the others are far away
      constexpr Wide most = INT64_MAX;
      return std::to_string(std::int64_t(std::clamp(position, -most, most)));
    };
    std::string extents;
    for (const TypedWindow::Term &term : window.window->forms[dim].terms)
      if (knows(term.axis))
        extents += fmt::format("{}{} = {}", extents.empty() ? "" : ", ",
                               spec_.axes[std::size_t(term.axis)].name,
                               *extents_[std::size_t(term.axis)]);
    support::fail("E0142",
                  fmt::format("{} reads position {} of axis {} of '{}', which has {}{}", window.name,
                              shown(span.least < 0 ? span.least : span.greatest), dim,
                              spec_.inputs[window.window->of].name, support::count(count, "element"),
                              extents.empty() ? "" : " (extents: " + extents + ")"),
                  window.where,
                  span.least < 0 ? "positions begin at 0: add a constant"
                                 : "an axis with a label has the extent that the label says; another name is free to be less");
  }

  const spec::TypedSpec &spec_;
  std::span<const Layout> given_;
  const expr::AxisSet in_sums_;
  std::vector<std::optional<std::int64_t>> extents_; // [axis]
  std::unordered_map<int, spec::DimExtent> taken_by_; // for messages
};

// The layout of a window, and how far its first element is from that of its array, in elements.
struct Seen {
  Layout layout;
  std::int64_t offset = 0;
};

Seen see(const spec::TypedSpec &spec, std::size_t index, const Layout &of,
         const std::vector<std::int64_t> &extents) {
  const spec::TypedInput &input = spec.inputs[index];
  const TypedWindow &window = *input.window;
  Seen seen;
  seen.layout.rank = int(input.axis_of_dim.size());
  bool fits = true, empty = false;
  const auto add = [&](std::int64_t &sum, std::int64_t times, std::int64_t stride) {
    std::int64_t product = 0;
    fits = fits && !__builtin_mul_overflow(times, stride, &product) &&
           !__builtin_add_overflow(sum, product, &sum);
  };
  for (std::size_t k = 0; k < input.axis_of_dim.size(); ++k) {
    const int axis = input.axis_of_dim[k];
    const std::int64_t extent = extents[std::size_t(axis)];
    seen.layout.extents[k] = extent;
    for (std::size_t dim = 0; dim < window.forms.size() && extent > 1; ++dim) // else it might be any number
      for (const TypedWindow::Term &term : window.forms[dim].terms)
        if (term.axis == axis) add(seen.layout.strides[k], term.times, of.strides[dim]);
    empty = empty || extent == 0;
  }
  for (std::size_t dim = 0; dim < window.forms.size() && !empty; ++dim) {
    const TypedWindow::Form &form = window.forms[dim];
    add(seen.offset, form.start + (form.from_end ? of.extents[dim] : 0), of.strides[dim]);
  }
  std::int64_t bytes = 0;
  fits = fits && !__builtin_mul_overflow(seen.offset, std::int64_t(size_of(input.dtype)), &bytes);
  if (!fits)
    support::fail("E0112", fmt::format("the strides of {} leave the range of i64", input.name),
                  input.where, "use smaller multiples");
  return seen;
}

} // namespace

WindowedOperands::WindowedOperands(const spec::TypedSpec &spec, Operands given) {
  const std::size_t count = spec.given_inputs();
  std::vector<Layout> layouts;
  for (std::size_t i = 0; i < count; ++i) layouts.push_back(given[i]->layout);
  const std::vector<std::int64_t> extents = ExtentFinder(spec, layouts).run();
  windows_.reserve(spec.inputs.size() - count); // their addresses are kept
  operands_.assign(given.begin(), given.begin() + std::ptrdiff_t(count));
  for (std::size_t i = count; i < spec.inputs.size(); ++i) {
    const AnyView &of = *given[spec.inputs[i].window->of];
    const Seen seen = see(spec, i, of.layout, extents);
    AnyView window = of;
    window.layout = seen.layout;
    if (of.data != nullptr)
      window.data = static_cast<char *>(of.data) + seen.offset * std::int64_t(size_of(of.dtype));
    operands_.push_back(&windows_.emplace_back(window));
  }
  operands_.insert(operands_.end(), given.begin() + std::ptrdiff_t(count), given.end());
}

void add_windows(const spec::TypedSpec &spec, std::vector<Layout> &inputs) {
  const std::vector<std::int64_t> extents = ExtentFinder(spec, inputs).run();
  for (std::size_t i = spec.given_inputs(); i < spec.inputs.size(); ++i)
    inputs.push_back(see(spec, i, inputs[spec.inputs[i].window->of], extents).layout);
}

} // namespace broadloom::kernel
