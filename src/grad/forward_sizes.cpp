// See forward_sizes.hpp.
#include "grad/forward_sizes.hpp"

#include "array/layout.hpp"
#include "reference/lets.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace broadloom::grad {
namespace {

constexpr double load_cost = 2; // a cast's, too; beside what ops::info says of operations

std::vector<std::int64_t> shape_of(const spec::TypedSpec &typed, const spec::TypedInput &input,
                                   const std::vector<NamedView> &given) {
  const auto view = std::ranges::find(given, input.name, &NamedView::name);
  if (view != given.end()) {
    const std::span<const std::int64_t> shape = view->view.layout.shape();
    return {shape.begin(), shape.end()};
  }
  for (std::size_t d = 0; d < input.extents.size(); ++d)
    if (input.extents[d] < 0)
      support::fail("E0610",
                    "nothing tells how long dim " + std::to_string(d) + " of '" + input.name +
                        "' is, and what is saved goes by its bytes",
                    support::with_text(input.where, typed.source.get()),
                    "give such an input, or declare its extents");
  return input.extents;
}

} // namespace

ForwardSizes::ForwardSizes(const spec::TypedSpec &typed, const std::vector<NamedView> &inputs)
    : typed_(typed) {
  for (const NamedView &view : inputs)
    if (std::ranges::none_of(typed.callers(),
                             [&](const auto &input) { return input.name == view.name; }))
      support::fail("E0003", "there is no input '" + std::string(view.name) + "' to have a shape",
                    {}, "name inputs of kernel '" + typed.name + "'");
  std::vector<Layout> callers;
  for (const spec::TypedInput &input : typed.callers())
    callers.push_back(contiguous_layout(shape_of(typed, input, inputs)));
  reference::output_shapes(typed, callers); // says what does not fit
  const std::vector<Layout> lets = reference::layouts_of_lets(typed, callers);
  for (std::size_t i = 0; i < callers.size(); ++i)
    arrays_.emplace(typed.callers()[i].name, callers[i]);
  for (std::size_t k = 0; k < lets.size(); ++k)
    arrays_.emplace(typed.materialised[k]->typed.outputs[0].name, lets[k]);
  extents_ = extents_of(typed);
}

std::int64_t ForwardSizes::bytes(const std::string &let) const {
  const auto made = std::ranges::find_if(
      typed_.materialised, [&](const auto &one) { return one->typed.outputs[0].name == let; });
  return element_count(arrays_.at(let)) * std::int64_t(size_of((*made)->typed.outputs[0].dtype));
}

double ForwardSizes::operations(const spec::Materialised &let) const {
  if (let.join) return 0; // its parts lie in it
  const spec::TypedSpec &kernel = let.typed;
  const AxisExtents extents = extents_of(kernel);
  double all = 0;
  for (const expr::NodeId id : kernel.graph.ids()) {
    expr::AxisSet axes = kernel.graph[id].axes;
    for (const expr::NodeId arg : kernel.graph.args(id)) axes = axes | kernel.graph[arg].axes;
    all += cost(kernel, id) * elements(axes, extents);
  }
  return all;
}

double ForwardSizes::cost(const spec::TypedSpec &kernel, expr::NodeId id) {
  const expr::Node &node = kernel.graph[id];
  switch (node.kind) {
  case expr::NodeKind::Op: return ops::info(node.op).cost;
  case expr::NodeKind::Input:
  case expr::NodeKind::Cast: return load_cost;
  case expr::NodeKind::Fold:
  case expr::NodeKind::Scan: {
    double step = 0;
    for (const ops::Code::Line &line : kernel.graph.recipe(id).step.lines)
      if (line.kind == ops::Code::Line::Kind::Op) step += ops::info(line.op).cost;
    return step;
  }
  case expr::NodeKind::Literal:
  case expr::NodeKind::Expand:
  case expr::NodeKind::Extent:
  case expr::NodeKind::Index: return 0;
  }
  return 0;
}

// The greatest that any array has; along an axis that positions alone walk, at most its dims.
ForwardSizes::AxisExtents ForwardSizes::extents_of(const spec::TypedSpec &kernel) const {
  AxisExtents extents(kernel.axes.size(), 0);
  const auto raise = [&](int axis, std::int64_t extent) {
    extents[std::size_t(axis)] = std::max(extents[std::size_t(axis)], extent);
  };
  const auto layout = [&](const std::string &array) -> const Layout * {
    const auto known = arrays_.find(array);
    return known == arrays_.end() ? nullptr : &known->second;
  };
  if (const Layout *own = kernel.outputs.size() == 1 ? layout(kernel.outputs[0].name) : nullptr)
    for (std::size_t d = 0; d < kernel.outputs[0].axes.size(); ++d)
      raise(kernel.outputs[0].axes[d], own->extents[d]);
  for (const spec::TypedInput &input : kernel.inputs) {
    const Layout *own = layout(input.name);
    for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d) {
      if (own != nullptr && !input.window && !input.in_windows_only && d < std::size_t(own->rank))
        raise(input.axis_of_dim[d], own->extents[d]);
      if (d < input.said.size()) raise(input.axis_of_dim[d], input.said[d].start);
    }
  }
  const AxisExtents known = extents;
  for (const spec::TypedInput &input : kernel.inputs) {
    const Layout *of = input.window ? layout(kernel.inputs[input.window->of].name) : nullptr;
    for (std::size_t d = 0; of != nullptr && d < input.window->forms.size(); ++d)
      for (const spec::TypedWindow::Term &term : input.window->forms[d].terms)
        if (known[std::size_t(term.axis)] == 0) raise(term.axis, of->extents[d]);
  }
  for (std::int64_t &extent : extents) extent = std::max<std::int64_t>(extent, 1);
  return extents;
}

double ForwardSizes::elements(expr::AxisSet axes, const AxisExtents &extents) {
  double all = 1;
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    if (axes.has(int(axis))) all *= double(extents[axis]);
  return all;
}

} // namespace broadloom::grad
