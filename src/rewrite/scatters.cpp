// See scatters.hpp.
#include "rewrite/scatters.hpp"

#include "rewrite/live_nodes.hpp"
#include "rewrite/split_parts.hpp"

#include <algorithm>

namespace broadloom::rewrite {
namespace {

using expr::Node;
using expr::NodeId;
using expr::NodeKind;

// The scatters that outputs need, other than for the values of other scatters.
std::vector<NodeId> outermost(const spec::TypedSpec &spec) {
  std::vector<bool> live(spec.graph.size());
  for (const spec::TypedOutput &output : spec.outputs)
    live[output.value.index] = live[output.addend.index] = true;
  std::vector<NodeId> found;
  for (std::size_t i = spec.graph.size(); i-- > 0;) {
    const NodeId id{std::uint32_t(i)};
    if (!live[i]) continue;
    if (is_scatter(spec, spec.graph[id]))
      found.push_back(id);
    else
      for (const NodeId arg : spec.graph.args(id)) live[arg.index] = true;
  }
  std::reverse(found.begin(), found.end());
  return found;
}

// As the input that the window is of, and no array of a call.
spec::TypedInput sum_input(const spec::TypedSpec &spec, const Node &fold) {
  const std::uint32_t through = spec.graph.like(fold)[0];
  const std::uint32_t of = spec.inputs[through].window->of;
  spec::TypedInput input = spec.inputs[of];
  input.name = "sum(.., like=" + spec.inputs[through].name + ")";
  input.dtype = fold.dtype;
  input.in_windows_only = false;
  input.where = spec.inputs[through].where;
  spec::TypedWindow window;
  window.of = of;
  window.derived = true;
  window.sum = through;
  for (std::size_t dim = 0; dim < input.axis_of_dim.size(); ++dim) {
    spec::TypedWindow::Form &form = window.forms.emplace_back();
    form.terms.push_back({input.axis_of_dim[dim], 1});
    form.stretches = input.may_stretch[dim];
    window.extents.push_back({-1, of, int(dim)});
  }
  input.window = std::move(window);
  return input;
}

} // namespace

bool is_scatter(const spec::TypedSpec &spec, const Node &node) {
  const spec::TypedInput *window = spec.summed_through(node);
  return window != nullptr && window->window->is_gather();
}

std::optional<Scatters> split_scatters(const spec::TypedSpec &spec) {
  const std::vector<NodeId> sums = outermost(spec);
  if (sums.empty()) return std::nullopt;
  Scatters made{spec, spec, spec};
  spec::TypedSpec &before = made.before, &after = made.after;
  before.name += "_sums";
  before.outputs.clear();
  before.pairings.clear();
  before.wishes = {};
  before.notes.clear();
  // What is given to it is given by the call of the whole: lets and the shapes of outputs are
  // inputs like others.
  before.materialised.clear();
  for (spec::TypedInput &input : before.inputs) { // arrays as others are
    input.of_output.reset();
    input.said.clear();
  }
  std::vector<std::pair<NodeId, std::uint32_t>> inputs;
  for (const NodeId sum : sums) {
    const Node &fold = spec.graph[sum];
    add_output(before, spec.graph.args(sum)[0], spec.summed_through(fold)->axis_of_dim, "sum");
    before.outputs.back().where = spec.where(sum);
    inputs.push_back({sum, std::uint32_t(after.inputs.size())});
    after.inputs.push_back(sum_input(spec, fold));
  }
  keep_live_nodes(before);
  keep_live_nodes(after, [&](NodeId id) -> std::optional<std::uint32_t> {
    for (const auto &[sum, input] : inputs)
      if (sum == id) return input;
    return std::nullopt;
  });
  return made;
}

} // namespace broadloom::rewrite
