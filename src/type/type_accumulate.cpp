// From a recipe and its arguments to the nodes of its states: where a fold or scan folds anything,
// what `like=` may fold, and how `init=` enters.
//
//   sum(x, j), init=2      fold of sum over cast(x : f64), joined with 2
#include "ops/joins.hpp"
#include "spec/words.hpp"
#include "support/fail.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"
#include "type/definition.hpp"
#include "type/typer.hpp"

#include <broadloom/array.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace broadloom::type {

using expr::AxisSet;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using support::fail;

// The states after folding `args`, or at each position of a scan.
std::vector<NodeId> Typer::accumulate(const FoldJob &job, const ops::Recipe &recipe,
                                      const std::vector<NodeId> &args) {
  const AxisSet may = may_fold(job);
  std::vector<NodeId> init = converted_init(job, recipe);
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
  if (init.size() < recipe.states.size()) // the number of steps: it counts as a block that has one
    init.push_back(literal(DType::F64, ops::scalar_from(1.0), job.where));
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
    const std::string name = "'" + std::string(spec::name_of(job.use.accumulator)) + "'";
    const bool of_mode = !job.use.init.empty(); // which stands apart from what it folds
    const ExprNode *written = of_mode ? job.use.init[k].node() : nullptr;
    const Place &where = of_mode && written->kind != ExprKind::Let ? written->where : job.where;
    if (!along.empty())
      fail("E0103",
           "the init= of " + name + " has " + space_.axis_list(along) +
               (job.is_scan ? ", along which it runs" : ", which it folds"),
           space_.shown(where), "init= enters once: give it a value that lacks these axes");
    const DType to = recipe.states[k], from = dtype(value);
    const bool is_number = value.weak && is_literal(value.node);
    const bool fits =
        value.weak && ((is_number && from == DType::I64) || is_float(to) || is_complex(to));
    if (to != DType::Bool && !fits && (is_number || promote(from, to) != to))
      fail("E0201",
           "the init= of " + name + " is " + std::string(broadloom::name(from)) +
               ", and the state is " + std::string(broadloom::name(to)),
           space_.shown(where), "cast it, as in " + std::string(broadloom::name(to)) + "(..)");
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

// Axes that all inputs of `like=` may lack at a call: there their extents may be 1 where the
// argument's is not.
AxisSet Typer::may_fold(const FoldJob &job) const {
  AxisSet may, never;
  for (const std::uint32_t i : job.like) {
    const spec::TypedInput &x = spec_.inputs[i];
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
  ops::Recipe &recipe = it->second;
  if (!fresh) return recipe;
  recipe = recipe_of(definition, args, spec_.source);
  recipe.commutes = spec::is_built_in(definition.name) || ops::is_symmetric(recipe.combine);
  if (recipe.has_combine() && !spec::is_built_in(definition.name)) {
    note_wrong_join(definition, recipe);
    count_steps(definition, recipe);
  }
  return recipe;
}

static std::string value_text(ops::Scalar value, DType dtype) {
  alignas(16) char element[16];
  ops::store(element, dtype, value);
  return print(Array(std::shared_ptr<void>(), dtype, element, Layout()));
}

// Its init need not be the identity of its combine: then blocks count their steps.
void Typer::count_steps(const AccumulatorDef &definition, ops::Recipe &recipe) {
  const std::optional<ops::Unlike> found = ops::start_is_no_identity(recipe);
  if (!found) return;
  const std::string &state = definition.states[found->state];
  const DType type = recipe.states[found->state];
  const std::string joined =
                        found->earlier ? "a block joined with init" : "init joined with a block",
                    text = fmt::format(
                        "the init of '{}' is no identity of its combine ({} has {} = {}, {} "
                        "alone {}): blocks count their elements, and one without any takes no part",
                        definition.name,
                        found->earlier || found->later ? joined : "init joined with init", state,
                        value_text(found->joined, type),
                        found->earlier || found->later ? "the block" : "init",
                        value_text(found->alone, type));
  spec_.notes.push_back(
      support::decide(support::Reason::EmptyBlocks, definition.name, "counted", text));
  recipe = ops::counting(recipe);
}

void Typer::note_wrong_join(const AccumulatorDef &definition, const ops::Recipe &recipe) {
  const ResultCode result = result_of(definition, recipe.states, spec_.source);
  const std::optional<ops::WrongJoin> wrong = ops::joins_wrongly(recipe, result.code, result.dtype);
  if (!wrong) return;
  std::vector<std::string> blocks;
  std::size_t next = 0;
  for (const std::size_t count : wrong->blocks) {
    std::vector<std::string> elements;
    for (std::size_t k = 0; k < count; ++k, ++next) {
      std::vector<std::string> args;
      for (std::size_t a = 0; a < recipe.args.size(); ++a)
        args.push_back(value_text(wrong->elements[next][a], recipe.args[a]));
      elements.push_back(support::tuple(args));
    }
    blocks.push_back(fmt::format("[{}]", fmt::join(elements, ", ")));
  }
  const DType type = wrong->state ? recipe.states[*wrong->state] : result.dtype;
  const std::string what =
      wrong->state ? "state '" + definition.states[*wrong->state] + "'" : "the result";
  Place where = definition.combine[0].where;
  for (const AccumulatorDef::Clause &clause : definition.combine)
    if (wrong->state && clause.state == definition.states[*wrong->state]) where = clause.where;
  const std::string text =
      fmt::format("the combine of '{}' joins blocks to other values than its steps give: of the "
                  "blocks {} {} is {}, of their elements one after the other {}",
                  definition.name, fmt::join(blocks, " and "), what,
                  value_text(wrong->joined, type), value_text(wrong->stepped, type));
  spec_.notes.push_back(
      support::decide(support::Reason::WrongJoin, definition.name, "as written", text));
  spec_.faults.emplace_back(
      "E0036", text, space_.shown(where),
      "each block steps from init, so let it say what no element gives, and give the rest by init= "
      "of the call; or leave combine out: the fold is then serial");
}

} // namespace broadloom::type
