// See window_extents.hpp.
#include "kernel/window_extents.hpp"

#include "kernel/positions.hpp"

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

// The extents of the axes that windows walk, one after the other: an axis whose forms have no other
// unknown axis is known next.
class ExtentFinder {
public:
  ExtentFinder(const spec::TypedSpec &spec, std::span<const Layout> given)
      : spec_(spec), given_(given), in_sums_(spec.free_axes()), extents_(spec.axes.size()) {}

  std::vector<std::int64_t> run() {
    check_borders();
    take_labels();
    take_dims();
    check_dims();
    while (std::optional<int> axis = next_unknown()) extents_[std::size_t(*axis)] = greatest(*axis);
    check_reads();
    std::vector<std::int64_t> extents;
    for (const std::optional<std::int64_t> &extent : extents_)
      extents.push_back(extent.value_or(1));
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
      if (window.derived) continue; // gives no extent and bounds none
      for (std::size_t dim = 0; dim < window.forms.size(); ++dim)
        if (window.forms[dim].indices.empty()) // elements bound no axis
          visit(i, window.forms[dim], dim, window.padded(int(dim), given_[window.of].extents[dim]));
    }
  }

  // There is nothing to repeat in an array without elements.
  void check_borders() const {
    for (std::size_t i = given_.size(); i < spec_.inputs.size(); ++i)
      for (const TypedWindow::Pad &pad : spec_.inputs[i].window->pads) {
        const TypedWindow &window = *spec_.inputs[i].window;
        const bool repeats = pad.mode != PadMode::Constant && pad.before + pad.after > 0;
        if (repeats && given_[window.of].extents[std::size_t(pad.dim)] == 0)
          support::fail("E0143",
                        fmt::format("{} repeats elements of axis {} of '{}', which has 0 elements",
                                    window.seen, pad.dim, spec_.inputs[window.of].name),
                        spec_.inputs[i].where,
                        "pad with zero or another number, or give it elements");
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
    for_each_form(
        [&](std::size_t i, const TypedWindow::Form &form, std::size_t dim, std::int64_t count) {
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
    for_each_form(
        [&](std::size_t i, const TypedWindow::Form &form, std::size_t dim, std::int64_t count) {
          if (!is_label(form) && !names_another_dim(i, form, dim)) return;
          if (*extents_[std::size_t(form.terms[0].axis)] == count) return;
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

  // t_0 in t[b, t_0], which is the axis of the first dim of t.
  bool names_another_dim(std::size_t i, const TypedWindow::Form &form, std::size_t dim) const {
    if (!form.is_axis() || !spec_.axes[std::size_t(form.terms[0].axis)].implied) return false;
    const auto by = taken_by_.find(form.terms[0].axis);
    return by != taken_by_.end() && by->second.input == spec_.inputs[i].window->of &&
           by->second.dim != dim;
  }

  // "'x'", "pad(x, i: (1, 1))"
  std::string array_of(const TypedWindow &window) const {
    return window.pads.empty() ? "'" + spec_.inputs[window.of].name + "'" : window.seen;
  }

  // "x[i, i] (dim 1 of 'x')", or "the declaration of 'w'".
  std::string shown(const spec::DimExtent &at) const {
    const spec::TypedInput &input = spec_.inputs[at.input];
    if (!input.window) return fmt::format("the declaration of '{}'", input.name);
    return fmt::format("{} (dim {} of {})", input.name, at.dim, array_of(*input.window));
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

  // An axis all of whose forms have no other unknown axis; else one with such a form; nothing where
  // all are known.
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
    span.least = span.greatest = start_of(form, count, [&](std::uint32_t input, std::size_t dim) {
      return given_[input].extents[dim];
    });
    for (const TypedWindow::Term &term : form.terms) {
      if (!knows(term.axis)) continue;
      const Wide last =
          Wide(term.times) * std::max<std::int64_t>(*extents_[std::size_t(term.axis)] - 1, 0);
      (last > 0 ? span.greatest : span.least) += last;
    }
    return span;
  }

  std::int64_t greatest(int axis) const {
    std::optional<std::int64_t> most;
    for_each_form(
        [&](std::size_t i, const TypedWindow::Form &form, std::size_t dim, std::int64_t count) {
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
    for_each_form(
        [&](std::size_t i, const TypedWindow::Form &form, std::size_t dim, std::int64_t count) {
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
        extents +=
            fmt::format("{}{} = {}", extents.empty() ? "" : ", ",
                        spec_.axes[std::size_t(term.axis)].name, *extents_[std::size_t(term.axis)]);
    const std::string help = window.window->forms[dim].terms.empty()
                                 ? "positions begin at 0, and those from the end at -1"
                             : span.least < 0 ? "positions begin at 0: add a constant"
                             : extents_known(dim, input)
                                 ? "give the array more elements, or the axes less: one that no "
                                   "label names is free to be less"
                                 : "give the array more elements: not one read is inside";
    support::fail("E0142",
                  fmt::format("{} reads position {} of axis {} of {}, which has {}{}", window.name,
                              shown(span.least < 0 ? span.least : span.greatest), dim,
                              array_of(*window.window), support::count(count, "element"),
                              extents.empty() ? "" : " (extents: " + extents + ")"),
                  window.where, help);
  }
  bool extents_known(std::size_t dim, std::size_t input) const {
    return unknown_of(spec_.inputs[input].window->forms[dim]) == 0;
  }

  const spec::TypedSpec &spec_;
  std::span<const Layout> given_;
  const expr::AxisSet in_sums_;
  std::vector<std::optional<std::int64_t>> extents_;  // [axis]
  std::unordered_map<int, spec::DimExtent> taken_by_; // for messages
};

} // namespace

std::vector<std::int64_t> window_extents(const spec::TypedSpec &spec,
                                         std::span<const Layout> given) {
  return ExtentFinder(spec, given).run();
}

} // namespace broadloom::kernel
