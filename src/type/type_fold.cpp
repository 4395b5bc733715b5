// Typing of folds and scans: which type they accumulate in, what sugar stands for, and the result
// that the states give, which are those of type_accumulate.cpp.
//
//   var(x, j), x : f32[i, j]     s0..s4 = the states of var over cast(x : f64)
//       its result, then cast to f32
#include "spec/definition.hpp"
#include "support/fail.hpp"
#include "support/text.hpp"
#include "type/typer.hpp"

#include <algorithm>

namespace broadloom::type {

using expr::AxisSet;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;
using ops::Op;
using support::fail;

namespace {

const AccumulatorDef *definition_of(const Accumulator &accumulator) {
  const Fold fold = accumulator.fold();
  if (fold == Fold::User) return accumulator.definition().get();
  return ops::info(fold).kind == ops::FoldKind::Definition ? &spec::prelude(fold) : nullptr;
}

bool takes_correction(Fold fold) { return fold == Fold::Var || fold == Fold::Std; }

bool takes_acc(Fold fold) {
  return fold != Fold::Any && fold != Fold::All && fold != Fold::ArgMin && fold != Fold::ArgMax;
}

bool finds_position(Fold fold) { return fold == Fold::ArgMin || fold == Fold::ArgMax; }

// The values of `init=` that it takes.
std::size_t init_count(const Accumulator &accumulator) {
  const Fold fold = accumulator.fold();
  if (fold == Fold::Mean || fold == Fold::Norm) return 0;
  if (fold == Fold::Std) return spec::prelude(Fold::Var).states.size();
  const AccumulatorDef *definition = definition_of(accumulator);
  return definition ? definition->states.size() : 1;
}

DType wide_dtype(const FoldUse &use, Fold fold, DType value) {
  return use.acc ? ops::compute_dtype(*use.acc) : ops::accumulate_dtype(fold, value);
}

ops::Scalar negative_zero(DType dtype) {
  const std::uint64_t bits =
      ops::convert(ops::scalar_from(-0.0), DType::F64, real_dtype(dtype)).bits;
  return {bits, is_complex(dtype) ? bits : 0};
}

DType as_real(DType dtype) { return is_float(dtype) || is_complex(dtype) ? dtype : DType::F64; }

} // namespace

// An inner reduction: its axes are those that the expression itself names, of which `accumulate`
// may have taken some already.
Folded Typer::type_fold(const ExprNode &node, std::vector<Value> values) {
  AxisSet has, had;
  for (std::size_t i = 0; i < node.folded; ++i) {
    has = has | spec_.graph[values[i].node].axes;
    had = had | reads_[node.args[i]].axes;
  }
  const AxisSet wanted = reads_[node].folded;
  const AxisSet taken = wanted & (had - has);
  const FoldUse &use = *node.use;
  const bool is_scan = node.kind == ExprKind::Scan;
  if (!taken.empty())
    fail("E0105",
         (is_scan ? "the scan of '" : "'") + std::string(spec::name_of(use.accumulator)) +
             (is_scan ? "' runs along " : "' folds ") + space_.axis_list(taken) +
             ", which accumulate has already folded",
         space_.shown(node.where),
         "use reduce(..) to fold after the expression, or name the kept axes in brackets");
  const auto middle = values.begin() + std::ptrdiff_t(node.folded);
  return fold({use,
               {values.begin(), middle},
               {middle, values.end()},
               wanted & has,
               space_.inputs_called(use.like, node.where),
               is_scan,
               node.where});
}

std::vector<Value> Typer::init_of(const FoldUse &use) {
  std::vector<Value> values;
  for (const Expr &value : use.init) values.push_back(type(value, {}));
  return values;
}

Folded Typer::fold(const FoldJob &job) {
  check_use(job);
  const Fold fold = job.use.accumulator.fold();
  if (!job.like.empty() && spec_.inputs[job.like[0]].window) return fold_into_window(job);
  switch (fold) {
  case Fold::Sum:
  case Fold::Prod:
  case Fold::Min:
  case Fold::Max:
  case Fold::Any:
  case Fold::All: {
    const DType type = dtype(job.args[0]);
    if (is_complex(type) && (fold == Fold::Min || fold == Fold::Max))
      fail("E0201",
           "'" + std::string(ops::info(fold).name) +
               "' is not defined for complex numbers, which have no order",
           space_.shown(job.where), "take real(x), imag(x) or abs(x)");
    return fold_operation(job, fold, wide_dtype(job.use, fold, type));
  }
  case Fold::Mean: return mean(job);
  case Fold::Norm: return norm(job);
  case Fold::Std: {
    Folded result = variance(job);
    const DType type = dtype(result.node);
    result.node = emit(Op::Sqrt, type, type, {result.node}, job.where);
    return result;
  }
  case Fold::Var: return variance(job);
  case Fold::LogSumExp:
  case Fold::ArgMin:
  case Fold::ArgMax:
  case Fold::User: return fold_definition(job, fold);
  }
  return {};
}

void Typer::check_use(const FoldJob &job) const {
  const FoldUse &use = job.use;
  const Fold fold = use.accumulator.fold();
  const std::string name = "'" + std::string(spec::name_of(use.accumulator)) + "'";
  auto refuse = [&](const char *option, const std::string &help) {
    fail("E0021", name + " takes no " + option, space_.shown(job.where), help);
  };
  const std::size_t wanted = fold == Fold::User ? use.accumulator.definition()->args.size() : 1;
  if (job.args.size() != wanted)
    fail("E0009",
         name + " accumulates " + support::count(std::int64_t(wanted), "value") + ", not " +
             std::to_string(job.args.size()),
         space_.shown(job.where),
         wanted == 1 ? "write " + std::string(spec::name_of(use.accumulator)) + "(x, axis)"
                     : "write the values in parentheses, in an expression: " +
                           std::string(spec::name_of(use.accumulator)) + "((x, y), axis)");
  if (use.correction && !takes_correction(fold))
    refuse("correction=", "correction= belongs to var and std");
  if (use.acc && !takes_acc(fold))
    refuse("acc=", "it keeps elements as they are: cast the argument instead");
  const bool divides = takes_correction(fold) || fold == Fold::LogSumExp;
  if (use.acc && divides && !is_float(*use.acc))
    fail("E0021", name + " accumulates in floats, not in " + std::string(broadloom::name(*use.acc)),
         space_.shown(job.where), "write acc=f32 or acc=f64");
  const std::size_t states = init_count(use.accumulator);
  if (!job.init.empty() && states == 0)
    refuse("init=", "it has no start of its own: write it out with sum and extent");
  if (!job.init.empty() && job.init.size() != states)
    fail("E0009",
         name + " has " + support::count(std::int64_t(states), "state") +
             ", and init= " + support::count(std::int64_t(job.init.size()), "value"),
         space_.shown(job.where),
         states == 1 ? "write init=value" : "write a tuple with a value for each state");
  if (!use.state.empty()) {
    const AccumulatorDef *definition = definition_of(use.accumulator);
    if (!definition) refuse("state=", "leave it out: there is only the result");
    const auto &all = definition->states;
    if (std::find(all.begin(), all.end(), use.state) == all.end())
      fail("E0021", name + " has no state '" + use.state + "'", space_.shown(job.where),
           "its states are " + support::quoted_list(all));
  }
  const bool needs_value = fold != Fold::User && ops::info(fold).needs_identity;
  if (job.is_scan && use.exclusive && needs_value && job.init.empty())
    fail("E0021", "the exclusive scan of " + name + " has no value at its first position",
         space_.shown(job.where), "say what it starts from: init=..");
}

// One state and one operation.
Folded Typer::fold_operation(const FoldJob &job, Fold fold, DType wide) {
  const NodeId arg = job.args[0].node;
  Folded result{arg, ops::result_dtype(fold, dtype(job.args[0])), job.like, false};
  const bool nothing_folds = !job.is_scan && job.axes.empty() && may_fold(job).empty();
  if (nothing_folds && job.init.empty()) {
    // An element alone is what it accumulates to: all of 2 is true, and 1 in an output of f64.
    if (wide == DType::Bool || job.use.acc) result.node = cast(arg, wide, job.where);
    return result;
  }
  ops::Recipe recipe = ops::recipe_of(fold, wide);
  recipe.needs_value = recipe.needs_value && job.init.empty();
  // 0 is the sum of nothing, but what leaves every start as it is, is -0: 0 + -0 is 0.
  if (fold == Fold::Sum && !job.init.empty() && !is_integer(wide))
    recipe.start[0] = negative_zero(wide);
  result.node = accumulate(job, recipe, {cast(arg, wide, job.where)})[0];
  result.open = true;
  return result;
}

// sum(e, like=x[i + u]): until transpose_windows writes it out, a Fold that has the window as its
// `like`.
Folded Typer::fold_into_window(const FoldJob &job) {
  const spec::TypedInput &window = spec_.inputs[job.like[0]];
  if (job.use.accumulator.fold() != Fold::Sum || !job.init.empty())
    fail(
        "E0021",
        "'" + std::string(spec::name_of(job.use.accumulator)) + "' takes no like= of the window " +
            window.name + (job.init.empty() ? "" : " with an init="),
        space_.shown(job.where),
        "only a sum, without init=, is defined where several elements meet at a position, or none");
  const DType type = dtype(job.args[0]), wide = wide_dtype(job.use, Fold::Sum, type);
  const NodeId repeated = expand(job.args[0].node, {job.like[0]}, job.where);
  NodeId arg = cast(repeated, wide, job.where);
  if (window.window->is_gather()) { // what a position gets is all that the value has there
    FoldJob others = job;
    others.like.clear();
    others.args = {{arg, false}};
    others.axes = spec_.graph[arg].axes - window.axes();
    arg = fold_operation(others, Fold::Sum, wide).node;
  }
  const NodeId shape = input(window.window->of, job.where);
  const Node node{.kind = NodeKind::Fold,
                  .recipe = spec_.graph.add_recipe(ops::recipe_of(Fold::Sum, wide)),
                  .dtype = wide,
                  .axes = spec_.graph[shape].axes,
                  .folded = spec_.graph[arg].axes,
                  .like = spec_.graph.add_like(job.like)};
  const Facts facts = facts_[shape.index];
  return {add(node, std::span(&arg, 1), facts, job.where),
          ops::result_dtype(Fold::Sum, type),
          {},
          true};
}

// The sum over the number of points that it has.
Folded Typer::mean(const FoldJob &job) {
  const DType type = dtype(job.args[0]);
  const DType wide = wide_dtype(job.use, Fold::Mean, type);
  FoldJob sum = job;
  sum.args = {{cast(job.args[0].node, wide, job.where), false}};
  Folded result = fold_operation(sum, Fold::Sum, wide);
  result.result = ops::result_dtype(Fold::Mean, type);
  if (!result.open) return result; // nothing folds
  const DType real = as_real(wide);
  const NodeId count = cast(points(job, sum.args[0].node), real, job.where);
  result.node = emit(Op::Div, real, real, {cast(result.node, real, job.where), count}, job.where);
  return result;
}

// The root of the sum of squares: of both parts of a complex number.
Folded Typer::norm(const FoldJob &job) {
  const DType type = dtype(job.args[0]), wide = wide_dtype(job.use, Fold::Norm, type);
  const DType part = real_dtype(wide), real = as_real(part);
  const NodeId arg = cast(job.args[0].node, wide, job.where);
  auto square = [&](NodeId x) { return emit(Op::Mul, part, part, {x, x}, job.where); };
  FoldJob sum = job;
  if (is_complex(wide)) {
    const NodeId re = emit(Op::Real, wide, part, {arg}, job.where);
    const NodeId im = emit(Op::Imag, wide, part, {arg}, job.where);
    sum.args = {{emit(Op::Add, part, part, {square(re), square(im)}, job.where), false}};
  } else {
    sum.args = {{square(arg), false}};
  }
  Folded result = fold_operation(sum, Fold::Sum, part);
  result.node = result.open
                    ? emit(Op::Sqrt, real, real, {cast(result.node, real, job.where)}, job.where)
                    : emit(Op::Abs, wide, part, {arg}, job.where);
  result.result = real_dtype(ops::result_dtype(Fold::Norm, type));
  return result;
}

// That of a complex value is the sum of those of its parts.
Folded Typer::variance(const FoldJob &job) {
  const DType type = dtype(job.args[0]), part = real_dtype(type);
  if (!is_complex(type)) return fold_definition(job, Fold::Var);
  if (!job.init.empty())
    fail("E0021", "'var' of complex numbers takes no init=", space_.shown(job.where),
         "take the real part and the imaginary part by themselves");
  auto of_part = [&](Op op) {
    FoldJob real = job;
    real.args = {{emit(op, type, part, {job.args[0].node}, job.where), false}};
    return fold_definition(real, Fold::Var);
  };
  Folded result = of_part(Op::Real);
  const Folded imaginary = of_part(Op::Imag);
  const DType wide = dtype(result.node);
  result.node = emit(Op::Add, wide, wide, {result.node, imaginary.node}, job.where);
  return result;
}

// Of the user, or written in the language itself.
Folded Typer::fold_definition(const FoldJob &job, Fold fold) {
  const FoldUse &use = job.use;
  const AccumulatorDef &definition =
      fold == Fold::User ? *use.accumulator.definition() : spec::prelude(fold);
  std::optional<DType> common; // of what is accumulated: numbers do not count beside typed values
  for (const Value &arg : job.args)
    if (!arg.weak) common = common ? promote(*common, dtype(arg)) : dtype(arg);
  for (const Value &arg : job.args)
    if (!common) common = dtype(arg);
  if (fold != Fold::User && is_complex(*common))
    fail("E0201",
         "'" + definition.name + "' is not defined for " + std::string(broadloom::name(*common)),
         space_.shown(job.where), "take the real part, the imaginary part or abs first");

  std::vector<NodeId> args;
  std::vector<DType> types;
  for (const Value &arg : job.args) {
    const DType wide = wide_dtype(use, fold, dtype(arg));
    args.push_back(cast(arg.node, wide, job.where));
  }
  if (finds_position(fold)) args.push_back(position(job, args));
  for (NodeId arg : args) types.push_back(dtype(arg));
  ops::Recipe recipe = this->recipe(definition, types);
  recipe.exact = finds_position(fold);
  recipe.needs_value = finds_position(fold) && job.init.empty();
  const std::vector<NodeId> states = accumulate(job, recipe, args);

  Folded result{states[0], {}, job.like, true};
  Parameters names;
  for (std::size_t k = 0; k < definition.states.size(); ++k) {
    names[definition.states[k]] = {states[k], false};
    if (definition.states[k] == use.state) result.node = states[k];
  }
  if (use.state.empty() && definition.result.node()) {
    if (fold == Fold::Var)
      names["correction"] = {
          literal(DType::F64, ops::scalar_from(use.correction.value_or(0)), job.where), true};
    result.node = type_defined(definition.result, names).node;
  }
  // States may be constant where nothing folds: a count is 1 then, at every position.
  const AxisSet all = axes_of(args) - job.axes;
  if (!spec_.graph[result.node].axes.contains(job.is_scan ? axes_of(args) : all)) {
    const Node repeat{.kind = NodeKind::Expand,
                      .dtype = dtype(result.node),
                      .axes = spec_.graph[result.node].axes | all};
    std::vector<NodeId> shapes{result.node};
    Facts facts = facts_[result.node.index];
    for (NodeId arg : args) {
      shapes.push_back(arg);
      meet(facts, facts_[arg.index], job.where);
    }
    result.node = add(repeat, shapes, facts, job.where);
  }
  const DType given = dtype(result.node);
  const bool alike =
      (is_float(given) && is_float(*common)) || (is_complex(given) && is_complex(*common));
  if (fold != Fold::User && use.state.empty())
    result.result = ops::result_dtype(fold, *common);
  else
    result.result = alike ? *common : given;
  return result;
}

} // namespace broadloom::type
