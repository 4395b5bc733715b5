// From a definition to a recipe: the types of the states, then code for step and combine.
//
// A clause is typed as any expression is, in a graph of its own where the names are inputs; the
// lines of the code are the nodes of that graph. A state's type is found by going round until
// nothing grows:
//
//   init a = 0, step a = 0.5 * a + m, m : f64     a: a weak 0, then f64, then f64
#include "spec/words.hpp"
#include "support/check.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"
#include "type/definition.hpp"
#include "type/typer.hpp"

#include <optional>

namespace broadloom::type {

using expr::NodeId;
using expr::NodeKind;

namespace {

struct StateType {
  DType dtype = DType::I64;
  bool weak = false; // a number so far, i64 or f64
  friend bool operator==(const StateType &, const StateType &) = default;
};

// The type of a state that held `a` and now is to hold `b`.
StateType join(StateType a, StateType b) {
  if (a.weak == b.weak) {
    if (!a.weak) return {promote(a.dtype, b.dtype), false};
    return {a.dtype == DType::F64 ? DType::F64 : b.dtype, true};
  }
  if (!a.weak) std::swap(a, b); // now a is the number
  const bool takes =
      a.dtype == DType::I64 ? b.dtype != DType::Bool : is_float(b.dtype) || is_complex(b.dtype);
  return {takes ? b.dtype : a.dtype, false};
}

// A graph for one clause or several.
struct Scratch {
  SpecData data;
  spec::TypedSpec spec;
  std::optional<spec::Space> space;
  std::optional<spec::Reads> reads;
  std::optional<Typer> typer;
  Typer::Parameters names;

  explicit Scratch(const std::shared_ptr<const std::string> &source) {
    data.source = spec.source = source;
    space.emplace(data, spec);
  }
  // The inputs come first, then `begin`.
  void declare(const std::string &name, DType dtype) {
    spec::TypedInput input;
    input.name = name;
    input.dtype = dtype;
    spec.inputs.push_back(std::move(input));
  }
  void begin() {
    reads.emplace(*space, spec);
    typer.emplace(spec, *space, *reads);
    for (std::size_t k = 0; k < spec.inputs.size(); ++k)
      names[spec.inputs[k].name] = {typer->input(k, {}), false};
  }
  // The type in which a value is carried.
  DType dtype(const Value &value) const { return ops::compute_dtype(typer->dtype(value)); }
};

ops::Code code_of(const expr::Graph &graph, int inputs, const std::vector<NodeId> &results) {
  std::vector<bool> live(graph.size());
  for (NodeId id : results) live[id.index] = true;
  for (std::size_t i = graph.size(); i-- > 0;)
    if (live[i])
      for (NodeId arg : graph.args(NodeId{std::uint32_t(i)})) live[arg.index] = true;

  ops::Code code;
  code.inputs = inputs;
  std::vector<std::uint32_t> value(graph.size());
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const expr::Node &node = graph[NodeId{i}];
    if (node.kind == NodeKind::Input) value[i] = node.payload;
    if (!live[i] || node.kind == NodeKind::Input) continue;
    ops::Code::Line line;
    line.dtype = node.dtype;
    for (NodeId arg : graph.args(NodeId{i})) line.args[line.arg_count++] = value[arg.index];
    const auto args = graph.args(NodeId{i});
    switch (node.kind) {
    case NodeKind::Literal:
      line.kind = ops::Code::Line::Kind::Literal;
      line.compute = node.dtype;
      line.literal = node.literal;
      break;
    case NodeKind::Cast:
      line.kind = ops::Code::Line::Kind::Cast;
      line.compute = graph[args[0]].dtype;
      break;
    case NodeKind::Op:
      line.op = node.op;
      line.compute = graph[args[node.op == ops::Op::Where ? 1 : 0]].dtype;
      break;
    default: support::bug("a definition holds more than elementwise operations");
    }
    value[i] = std::uint32_t(inputs) + std::uint32_t(code.lines.size());
    code.lines.push_back(line);
  }
  for (NodeId id : results) code.results.push_back(value[id.index]);
  return code;
}

class RecipeMaker {
public:
  RecipeMaker(const AccumulatorDef &definition, const std::vector<DType> &args,
              const std::shared_ptr<const std::string> &source)
      : def_(definition), args_(args), source_(source), types_(definition.states.size()) {}

  ops::Recipe run() {
    for (const auto &clause : def_.init)
      type_of(clause.state) = type_of(clause.value.node()->number);
    while (grow()) {
    }
    ops::Recipe recipe;
    recipe.name = def_.name;
    recipe.args = args_;
    for (const StateType &type : types_) recipe.states.push_back(type.dtype);
    start(recipe);
    recipe.step = step();
    if (!def_.combine.empty()) recipe.combine = combine();
    return recipe;
  }

private:
  std::size_t index_of(const std::string &state) const {
    for (std::size_t k = 0; k < def_.states.size(); ++k)
      if (def_.states[k] == state) return k;
    support::bug("a clause of an unknown state");
  }
  StateType &type_of(const std::string &state) { return types_[index_of(state)]; }

  static StateType type_of(const Number &number) {
    switch (number.kind) {
    case Number::Kind::Bool: return {DType::Bool, false};
    case Number::Kind::Int: return {DType::I64, true};
    case Number::Kind::Float: return {DType::F64, true};
    case Number::Kind::Imaginary: break; // the form is checked before
    }
    return {};
  }

  // One round: whether a state's type grew.
  bool grow() {
    Scratch scratch(source_);
    for (std::size_t k = 0; k < types_.size(); ++k)
      if (!types_[k].weak) scratch.declare(def_.states[k], types_[k].dtype);
    for (std::size_t k = 0; k < args_.size(); ++k) scratch.declare(def_.args[k], args_[k]);
    scratch.begin();
    for (std::size_t k = 0; k < types_.size(); ++k) {
      if (!types_[k].weak) continue;
      Number one; // the value does not matter: 1 fits every type and every operation
      one.kind = types_[k].dtype == DType::F64 ? Number::Kind::Float : Number::Kind::Int;
      one.integer = 1;
      one.real = 1;
      scratch.names[def_.states[k]] = scratch.typer->type_defined(make_literal(one, {}), {});
    }
    bool grew = false;
    for (const auto &clause : def_.step) {
      const Value value = scratch.typer->type_defined(clause.value, scratch.names);
      StateType &type = type_of(clause.state);
      const StateType now = join(type, {scratch.dtype(value), value.weak});
      grew = grew || !(now == type);
      type = now;
    }
    return grew;
  }

  void start(ops::Recipe &recipe) {
    Scratch scratch(source_);
    scratch.begin();
    recipe.start.resize(types_.size());
    for (const auto &clause : def_.init) {
      const Value value = scratch.typer->type_defined(clause.value, {});
      const DType to = type_of(clause.state).dtype;
      const NodeId literal =
          value.weak ? scratch.typer->number_as(value.node, to, clause.where, "the state")
                     : scratch.typer->cast(value.node, to, clause.where);
      recipe.start[index_of(clause.state)] = scratch.spec.graph[literal].literal;
    }
  }

  ops::Code step() {
    Scratch scratch(source_);
    for (std::size_t k = 0; k < types_.size(); ++k)
      scratch.declare(def_.states[k], types_[k].dtype);
    for (std::size_t k = 0; k < args_.size(); ++k) scratch.declare(def_.args[k], args_[k]);
    return results(scratch, def_.step);
  }

  ops::Code combine() {
    Scratch scratch(source_);
    for (const char *suffix : {"", "_other"})
      for (std::size_t k = 0; k < types_.size(); ++k)
        scratch.declare(def_.states[k] + suffix, types_[k].dtype);
    return results(scratch, def_.combine);
  }

  ops::Code results(Scratch &scratch, const std::vector<AccumulatorDef::Clause> &clauses) {
    scratch.begin();
    std::vector<NodeId> results(types_.size());
    for (const auto &clause : clauses) {
      const Value value = scratch.typer->type_defined(clause.value, scratch.names);
      const DType to = type_of(clause.state).dtype;
      const StateType both = join({to, false}, {scratch.dtype(value), value.weak});
      // Those of the language may count wider than they sum: var in f32 counts in f64.
      if (both.dtype != to && !spec::is_built_in(def_.name))
        support::fail("E0201",
                      "combine of '" + def_.name + "' gives " +
                          std::string(name(scratch.dtype(value))) + " for state '" + clause.state +
                          "', which init and step make " + std::string(name(to)),
                      support::with_text(clause.where, source_.get()),
                      "cast it, as in " + std::string(name(to)) +
                          "(..), or start the state from a number with a point");
      results[index_of(clause.state)] =
          value.weak ? scratch.typer->number_as(value.node, to, clause.where, "the state")
                     : scratch.typer->cast(value.node, to, clause.where);
    }
    return code_of(scratch.spec.graph, int(scratch.spec.inputs.size()), results);
  }

  const AccumulatorDef &def_;
  const std::vector<DType> &args_;
  const std::shared_ptr<const std::string> &source_;
  std::vector<StateType> types_;
};

} // namespace

ops::Recipe recipe_of(const AccumulatorDef &definition, const std::vector<DType> &args,
                      const std::shared_ptr<const std::string> &source) {
  return RecipeMaker(definition, args, source).run();
}

ResultCode result_of(const AccumulatorDef &definition, const std::vector<DType> &states,
                     const std::shared_ptr<const std::string> &source) {
  Scratch scratch(source);
  for (std::size_t k = 0; k < states.size(); ++k) scratch.declare(definition.states[k], states[k]);
  scratch.begin();
  const Value value = definition.result.node()
                          ? scratch.typer->type_defined(definition.result, scratch.names)
                          : scratch.names.at(definition.states[0]);
  const DType type = scratch.dtype(value);
  const NodeId result = scratch.typer->cast(value.node, type, definition.where);
  return {code_of(scratch.spec.graph, int(states.size()), {result}), type};
}

} // namespace broadloom::type
