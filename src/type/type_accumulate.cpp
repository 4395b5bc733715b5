// From a recipe and its arguments to the nodes of its states: where a fold or scan folds anything, what `like=` may fold, and how
// `init=` enters.
//
//   sum(x, j), init=2      fold of sum over cast(x : f64), joined with 2
#include "spec/definition.hpp"
#include "support/fail.hpp"
#include "support/reasons.hpp"
#include "type/typer.hpp"

#include <algorithm>

namespace broadloom::spec {

using expr::AxisSet;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using support::fail;

// The states after folding `args`, or at each position of a scan.
std::vector<NodeId> Typer::accumulate(const FoldJob &job, const ops::Recipe &recipe,
                                      const std::vector<NodeId> &args) {
  const AxisSet may = may_fold(job);
  const std::vector<NodeId> init = converted_init(job, recipe);
  const bool starts = !init.empty() && !recipe.has_combine();
  std::vector<NodeId> states;
  if (!job.is_scan && job.axes.empty() && may.empty()) { // a single step
    for (std::size_t k = 0; k < recipe.states.size(); ++k)
      states.push_back(starts ? init[k] : literal(recipe.states[k], recipe.start[k], job.where));
    states.insert(states.end(), args.begin(), args.end());
    states = run_code(recipe.step, std::move(states), job.where);
  } else {
    std::vector<NodeId> inputs = args;
    if (starts) inputs.insert(inputs.end(), init.begin(), init.end());
    Node node;
    node.kind = job.is_scan ? NodeKind::Scan : NodeKind::Fold;
    node.recipe = spec_.graph.add_recipe(recipe);
    node.axes = axes_of(inputs);
    if (!job.is_scan) node.axes = node.axes - job.axes;
    node.folded = job.axes;
    if (!may.empty()) node.like = spec_.graph.add_like(job.like);
    node.exclusive = job.use.exclusive;
    node.reverse = job.use.reverse;
    Facts facts;
    for (NodeId input : inputs) meet(facts, facts_[input.index], job.where);
    if (!job.is_scan) {
      facts.visible = visible_.filter(facts.visible, [&](std::size_t i) {
        return (spec_.inputs[i].axes() & (job.axes | may)).empty();
      });
      facts.rigid = facts.rigid - job.axes - may;
      facts.fixed = fixed_.without(facts.fixed, job.axes | may);
    }
    for (std::size_t k = 0; k < recipe.states.size(); ++k) {
      node.payload = std::uint32_t(k);
      node.dtype = recipe.states[k];
      states.push_back(add(node, inputs, facts, job.where));
    }
    if (!recipe.has_combine()) note_ordered(job, recipe);
  }
  if (init.empty() || starts) return states;
  std::vector<NodeId> both = init; // it enters first
  both.insert(both.end(), states.begin(), states.end());
  return run_code(recipe.combine, std::move(both), job.where);
}

std::vector<NodeId> Typer::converted_init(const FoldJob &job, const ops::Recipe &recipe) {
  std::vector<NodeId> values;
  const AxisSet folded = job.axes | may_fold(job);
  for (std::size_t k = 0; k < job.init.size(); ++k) {
    const Value &value = job.init[k];
    const AxisSet along = spec_.graph[value.node].axes & folded;
    const std::string name = "'" + std::string(name_of(job.use.accumulator)) + "'";
    if (!along.empty())
      fail("E0103",
           "the init= of " + name + " has " + space_.axis_list(along) +
               (job.is_scan ? ", along which it runs" : ", which it folds"),
           space_.shown(job.where), "init= enters once: give it a value that lacks these axes");
    const DType to = recipe.states[k], from = dtype(value);
    const bool is_number = value.weak && is_literal(value.node);
    const bool fits =
        value.weak && ((is_number && from == DType::I64) || is_float(to) || is_complex(to));
    if (to != DType::Bool && !fits && (is_number || promote(from, to) != to))
      fail("E0201",
           "the init= of " + name + " is " + std::string(broadloom::name(from)) +
               ", and the state is " + std::string(broadloom::name(to)),
           space_.shown(job.where), "cast it, as in " + std::string(broadloom::name(to)) + "(..)");
    values.push_back(is_number && to != DType::Bool
                         ? number_as(value.node, to, job.where, "the state")
                         : cast(value.node, to, job.where));
  }
  return values;
}

std::vector<NodeId> Typer::run_code(const ops::Code &code, std::vector<NodeId> values,
                                    const Place &where) {
  using Line = ops::Code::Line;
  return ops::write_out(
      code, std::move(values),
      [&](const Line &line) { return literal(line.dtype, line.literal, where); },
      [&](const Line &line, NodeId arg) { return cast(arg, line.dtype, where); },
      [&](const Line &line, const std::vector<NodeId> &args) {
        return emit(line.op, line.compute, line.dtype, args, where);
      });
}

// Axes that all inputs of `like=` may lack at a call: there their extents may be 1 where the argument's is not.
AxisSet Typer::may_fold(const FoldJob &job) const {
  AxisSet may, never;
  for (const std::uint32_t i : job.like) {
    const TypedInput &x = spec_.inputs[i];
    for (std::size_t dim = 0; dim < x.axis_of_dim.size(); ++dim) {
      AxisSet &known = x.may_stretch[dim] ? may : never;
      known = known | AxisSet::of(x.axis_of_dim[dim]);
    }
  }
  AxisSet left;
  for (const Value &arg : job.args) left = left | spec_.graph[arg.node].axes;
  return (may - never) & (left - job.axes);
}

AxisSet Typer::axes_of(const std::vector<NodeId> &nodes) const {
  AxisSet axes;
  for (NodeId node : nodes) axes = axes | spec_.graph[node].axes;
  return axes;
}

void Typer::note_ordered(const FoldJob &job, const ops::Recipe &recipe) {
  const std::string axes = space_.axis_list(job.axes | may_fold(job));
  Decision note = support::decide(
      support::Reason::NoCombine, axes, "serial",
      "'" + recipe.name + "' has no combine: its " + (job.is_scan ? "scan along " : "fold over ") +
          axes + " is serial, in logical order",
      {{"blocks in parallel", "nothing says how the states of two blocks are joined"}});
  const auto same = [&](const Decision &d) { return d.topic == note.topic && d.text == note.text; };
  if (std::none_of(spec_.notes.begin(), spec_.notes.end(), same))
    spec_.notes.push_back(std::move(note));
}

const ops::Recipe &Typer::recipe(const AccumulatorDef &definition, const std::vector<DType> &args) {
  auto [it, fresh] = recipes_.try_emplace({&definition, args});
  if (fresh) it->second = recipe_of(definition, args, spec_.source);
  return it->second;
}

} // namespace broadloom::spec
