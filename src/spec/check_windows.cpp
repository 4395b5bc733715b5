// See check_windows.hpp.
#include "spec/check_windows.hpp"

#include "support/fail.hpp"
#include "support/text.hpp"

namespace broadloom::spec {
namespace {

using expr::AxisSet;

// Those that a dim of an array gives: a label, or an axis that stands nowhere but alone.
AxisSet given_axes(const TypedSpec &spec) {
  const AxisSet in_sums = spec.free_axes();
  AxisSet known;
  for (const TypedInput &input : spec.inputs) {
    if (!input.window) {
      for (std::size_t dim = 0; input.labelled && dim < input.axis_of_dim.size(); ++dim)
        if (!input.may_stretch[dim]) known = known | AxisSet::of(input.axis_of_dim[dim]);
      continue;
    }
    for (const TypedWindow::Form &form : input.window->forms)
      if (form.is_axis() && !in_sums.has(form.terms[0].axis))
        known = known | AxisSet::of(form.terms[0].axis);
  }
  return known;
}

AxisSet axes_of(const TypedWindow::Form &form) {
  AxisSet axes;
  for (const TypedWindow::Term &term : form.terms) axes = axes | AxisSet::of(term.axis);
  return axes;
}

} // namespace

void check_windows(const TypedSpec &spec) {
  AxisSet known = given_axes(spec);
  // A form whose other axes are known bounds its last one.
  for (bool more = true; more;) {
    more = false;
    for (const TypedInput &input : spec.inputs) {
      if (!input.window) continue;
      for (const TypedWindow::Form &form : input.window->forms) {
        if (!form.indices.empty()) continue; // whatever the axes are, the elements may say
        const AxisSet left = axes_of(form) - known;
        if (left.size() != 1) continue;
        known = known | left;
        more = true;
      }
    }
  }
  for (const TypedInput &input : spec.inputs) {
    if (!input.window) continue;
    for (const TypedWindow::Form &form : input.window->forms) {
      std::vector<std::string> names;
      for (const TypedWindow::Term &term : form.terms)
        if (!known.has(term.axis)) names.push_back(spec.axes[std::size_t(term.axis)].name);
      if (names.empty()) continue;
      support::fail("E0141",
                    "nothing gives the axes " + support::quoted_list(names) +
                        " their extents: " + input.name + " is inside for more than one choice",
                    input.where,
                    "say how long one is, as in axis " + names.back() +
                        " < 2, or let another input have it, as a label or alone at a position");
    }
  }
}

} // namespace broadloom::spec
