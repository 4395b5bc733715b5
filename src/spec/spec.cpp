// See spec.hpp: what a TypedSpec knows of itself, and errors that are the same at analysis and at a
// call.
#include "spec/spec.hpp"

#include "support/fail.hpp"
#include "support/log.hpp"
#include "support/text.hpp"
#include "support/warning.hpp"

namespace broadloom::spec {

using expr::AxisSet;
using expr::NodeId;
using support::fail;

Place TypedSpec::where(NodeId id) const {
  return support::with_text(graph.where(id), source.get());
}

std::size_t TypedSpec::given_inputs() const {
  std::size_t count = inputs.size();
  while (count > 0 && inputs[count - 1].window) --count;
  return count;
}

std::size_t TypedSpec::callers_inputs() const {
  std::size_t count = given_inputs();
  while (count > 0 && inputs[count - 1].is_lent()) --count;
  while (!materialised.empty() && count > 0 && inputs[count - 1].materialised) --count;
  return count;
}

const TypedInput *TypedSpec::lent_input() const {
  const TypedInput *first = nullptr;
  for (std::size_t i = given_inputs(); i > 0 && inputs[i - 1].is_lent(); --i)
    if (inputs[i - 1].of_output) first = &inputs[i - 1];
  return first;
}

AxisSet TypedSpec::axes_of(std::span<const std::uint32_t> some) const {
  AxisSet all;
  for (const std::uint32_t i : some) all = all | inputs[i].axes();
  return all;
}

std::string TypedSpec::names_of(std::span<const std::uint32_t> some) const {
  std::vector<std::string> names;
  for (const std::uint32_t i : some) names.push_back(inputs[i].name);
  return support::tuple(names);
}

const TypedInput *TypedSpec::summed_through(const expr::Node &node) const {
  if (node.kind != expr::NodeKind::Fold || !node.like.given()) return nullptr;
  const TypedInput &first = inputs[graph.like(node)[0]];
  return first.window ? &first : nullptr;
}

AxisSet TypedSpec::shown_axes() const {
  AxisSet shown;
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (!axes[axis].implied) shown = shown | AxisSet::of(int(axis));
  for (const TypedOutput &output : outputs) shown = shown | AxisSet::of(output.axes);
  for (const TypedInput &input : inputs)
    if (input.window) shown = shown | input.axes();
  return shown;
}

AxisSet TypedSpec::free_axes() const {
  AxisSet axes;
  for (const TypedInput &input : inputs) {
    if (!input.window || input.window->derived) continue;
    const bool of_let = inputs[input.window->of].materialised;
    for (const TypedWindow::Form &form : input.window->forms)
      for (const TypedWindow::Term &term : form.terms)
        if ((of_let || !form.is_axis()) && form.indices.empty())
          axes = axes | AxisSet::of(term.axis);
  }
  return axes;
}

namespace {

std::string axis_of(const TypedSpec &spec, const DimExtent &d) { // "axis 'j' of 'x' has "
  const TypedInput &input = spec.inputs[d.input];
  const Axis &axis = spec.axes[std::size_t(input.axis_of_dim[d.dim])];
  return "axis " + (input.labelled ? "'" + axis.name + "'" : std::to_string(d.dim)) + " of '" +
         input.name + "' has ";
}

} // namespace

void fail_like(const TypedSpec &spec, const TypedOutput &output, const DimExtent &by,
               const DimExtent &like) {
  std::vector<std::string> names;
  for (const std::uint32_t i : output.like) names.push_back(spec.inputs[i].name);
  fail("E0102",
       axis_of(spec, by) + support::count(by.extent, "element") + ", " + axis_of(spec, like) +
           std::to_string(like.extent) + ", and output '" + output.name +
           "' is to have the shape of " + support::quoted_list(names),
       output.where,
       "broadcast(like=..) repeats, it does not fold: for that there is reduce(A, like=..)");
}

void fail_declared_extent(const TypedInput &input, int dim, std::int64_t given) {
  fail("E0102",
       "axis " + std::to_string(dim) + " of '" + input.name + "' has " + std::to_string(given) +
           " elements, its declaration says " + std::to_string(input.extents[std::size_t(dim)]),
       input.where, "pass an array of the declared extent, or change the declaration");
}

void fail_extents(const TypedSpec &spec, const DimExtent &a, const DimExtent &b,
                  const Place &where) {
  const TypedInput &x = spec.inputs[a.input], &y = spec.inputs[b.input];
  bool ordered = x.by_order || y.by_order;
  bool other_order_helps = ordered && x.extents.size() != y.extents.size();
  std::string order = spec.order == Order::c ? "c" : spec.order == Order::f ? "f" : "none";
  std::string message = axis_of(spec, a) + support::count(a.extent, "element") + ", " +
                        axis_of(spec, b) + std::to_string(b.extent) +
                        (ordered ? " (order " + order + ")" : "");
  std::string help = "dims that meet must have equal extents, or 1 where one is to be repeated";
  if (other_order_helps && spec.order == Order::c)
    help = "order c aligns leading dims; for NumPy's rule write `order f`";
  else if (other_order_helps && spec.order == Order::f)
    help = "order f aligns trailing dims; to align leading dims write `order c`";
  else if (x.labelled && y.labelled && (a.extent == 1 || b.extent == 1))
    help = "a labelled dim is repeated only where it is declared so, as in `j=1` or `j?`";
  else if (x.labelled && y.labelled)
    help = "equal labels mean equal extents: give one of the dims another label";
  else if (a.extent == 1 || b.extent == 1)
    help = "`stretch on` lets an unlabelled dim of 1 be repeated";
  fail("E0102", message, where, help);
}

} // namespace broadloom::spec
