// Along which axes a kernel is a map: see split_folds.hpp.
#include "rewrite/split_folds.hpp"

#include "support/fail.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::rewrite {

using expr::Node;
using expr::NodeId;
using expr::NodeKind;

int find_axis(const spec::TypedSpec &spec, const std::string &axis) {
  std::string names;
  for (std::size_t a = 0; a < spec.axes.size(); ++a) {
    const auto has = [&](const spec::TypedInput &input) { return input.axes().has(int(a)); };
    if (!std::ranges::any_of(spec.inputs, has)) continue;
    if (spec.axes[a].name == axis) return int(a);
    names += (names.empty() ? "'" : ", '") + spec.axes[a].name + "'";
  }
  support::fail("E0104", fmt::format("no input of kernel '{}' has an axis '{}'", spec.name, axis),
                {}, names.empty() ? "its inputs have no axes" : "the axes are " + names);
}

// The axis that alone stands at position `dim` of all windows of the input; -1: there is none.
static int walked_along(const spec::TypedSpec &spec, std::size_t input, std::size_t dim) {
  int axis = -1;
  for (std::size_t w = spec.given_inputs(); w < spec.inputs.size(); ++w) {
    const spec::TypedWindow &window = *spec.inputs[w].window;
    if (window.of != input) continue;
    const spec::TypedWindow::Form &form = window.forms[dim];
    if (!form.is_axis() || window.pad_of(int(dim)) || window.derived) return -1;
    if (axis >= 0 && axis != form.terms[0].axis) return -1;
    axis = form.terms[0].axis;
  }
  return axis;
}

spec::TypedSpec with_walked_dims(spec::TypedSpec spec) {
  for (std::size_t i = 0; i < spec.given_inputs(); ++i) {
    spec::TypedInput &input = spec.inputs[i];
    if (!input.in_windows_only || input.is_lent()) continue;
    for (std::size_t d = 0; d < input.axis_of_dim.size(); ++d) {
      if (input.labelled && !spec.axes[std::size_t(input.axis_of_dim[d])].implied) continue;
      const int axis = walked_along(spec, i, d);
      if (axis < 0 || std::ranges::count(input.axis_of_dim, axis) != 0) continue;
      input.axis_of_dim[d] = axis;
      input.may_stretch[d] = false;
    }
  }
  return spec;
}

bool reads_in_place(const spec::TypedSpec &spec, const spec::TypedInput &window, int a) {
  const spec::TypedInput &array = spec.inputs[window.window->of];
  for (std::size_t d = 0; d < window.window->forms.size(); ++d) {
    const spec::TypedWindow::Form &form = window.window->forms[d];
    const bool walks = std::ranges::any_of(form.terms, [&](const auto &t) { return t.axis == a; });
    const bool has = d < array.axis_of_dim.size() && array.axis_of_dim[d] == a;
    if ((walks || has) && (!form.is_axis() || !walks || !has || window.window->pad_of(int(d))))
      return false;
    for (const spec::TypedWindow::Count &count : form.counts)
      if (spec.inputs[count.input].axis_of_dim[std::size_t(count.dim)] == a) return false;
  }
  return true;
}

std::string why_no_map(const spec::TypedSpec &spec, const std::string &axis) {
  const int a = find_axis(spec, axis);
  if (spec.callers_inputs() != spec.given_inputs())
    return "it has lets that are arrays or says extents";
  for (std::size_t i = spec.given_inputs(); i < spec.inputs.size(); ++i) {
    const spec::TypedInput &input = spec.inputs[i];
    if (!input.window || input.window->derived || input.window->sum ||
        !reads_in_place(spec, input, a))
      return "it reads at positions along it";
  }
  bool counts = false; // as means do, but then the fold is the better reason
  std::vector<bool> needed(spec.graph.size(), false);
  for (const spec::TypedOutput &output : spec.outputs) needed[output.addend.index] = true;
  for (std::size_t n = spec.graph.size(); n-- > 0;) {
    if (!needed[n]) continue;
    const NodeId id{std::uint32_t(n)};
    const Node &node = spec.graph[id];
    const auto args = spec.graph.args(id);
    const auto has = [&](NodeId arg) { return spec.graph[arg].axes.has(a); };
    const bool goes = node.folded.has(a) && std::ranges::any_of(args, has);
    if (node.kind == NodeKind::Fold && goes)
      return "it folds by '" + spec.graph.recipe(id).name + "' along it";
    if (node.kind == NodeKind::Scan && goes)
      return "it scans by '" + spec.graph.recipe(id).name +
             "' along it, and what is before a block is not in it";
    counts = counts || (node.kind == NodeKind::Extent && goes);
    if (node.kind == NodeKind::Index && node.axes.has(a)) return "it numbers its positions";
    for (const std::uint32_t like : spec.graph.like(node))
      if (spec.inputs[like].axes().has(a) && !has(id))
        return "like=" + spec.inputs[like].name + " has it";
    for (const NodeId arg : args) needed[arg.index] = true;
  }
  return counts ? "it counts its positions" : "";
}

} // namespace broadloom::rewrite
