// What the definitions of accumulators say, standard ones in the same form as the users'.
#include "grad/recurrence.hpp"

#include "facts/substitute.hpp"
#include "spec/definition.hpp"
#include "support/fail.hpp"

#include <algorithm>
#include <limits>

namespace broadloom::grad {

using ops::Op;

namespace {

// m + log(s) has a slope where x meets m, too, if both states move on the same side of the corner
// there. The definition's own step computes one exponential for both sides, of -abs(x - m), which
// is flat there.
Names smooth_steps_of_logsumexp(const facts::Terms &t) {
  const Expr m = named("m"), s = named("s"), x = named("x");
  const Expr above = t.op(Op::Gt, {x, m});
  const Expr both_infinite = t.both(t.op(Op::Eq, {x, m}), t.op(Op::IsInf, {x}));
  const Expr shrunk = t.mul(s, t.op(Op::Exp, {t.sub(m, x)}));
  const Expr one_more = t.where(both_infinite, t.num(1), t.op(Op::Exp, {t.sub(x, m)}));
  return {{"m", t.where(t.either(above, t.op(Op::IsNan, {x})), x, m)},
          {"s", t.where(above, t.add(shrunk, t.num(1)), t.add(s, one_more))}};
}

} // namespace

namespace {

Steps defined_steps(const FoldUse &use, const facts::Terms &t) {
  Steps steps;
  const auto single = [&](double start, const Expr &step, const Expr &result) {
    steps.states = {"s"};
    steps.args = {"x"};
    steps.init["s"] = t.num(start);
    steps.step["s"] = step;
    steps.result = result;
  };
  const Expr s = named("s"), x = named("x");
  // Flat at 0, as the folds are.
  const auto root = [&](const Expr &of) {
    return t.where(t.op(Op::Eq, {of, t.num(0)}), t.num(0), t.op(Op::Sqrt, {of}));
  };
  const auto infinite = [&](double sign) {
    Number number;
    number.kind = Number::Kind::Float;
    number.real = sign * std::numeric_limits<double>::infinity();
    return make_literal(number, t.place());
  };
  switch (use.accumulator.fold()) {
  case Fold::Sum: single(0, t.add(s, x), s); return steps;
  case Fold::Prod: single(1, t.mul(s, x), s); return steps;
  case Fold::Min:
    single(0, t.op(Op::Minimum, {s, x}), s);
    steps.init["s"] = infinite(1);
    return steps;
  case Fold::Max:
    single(0, t.op(Op::Maximum, {s, x}), s);
    steps.init["s"] = infinite(-1);
    return steps;
  case Fold::Norm: single(0, t.add(s, t.square(x)), root(s)); return steps;
  default: break;
  }
  const Fold fold = use.accumulator.fold();
  const AccumulatorDef &definition = fold == Fold::User  ? *use.accumulator.definition()
                                     : fold == Fold::Std ? spec::prelude(Fold::Var)
                                                         : spec::prelude(fold);
  steps.states = definition.states;
  steps.args = definition.args;
  for (const auto &clause : definition.init) steps.init[clause.state] = clause.value;
  for (const auto &clause : definition.step) steps.step[clause.state] = clause.value;
  for (const auto &clause : definition.combine) steps.combine[clause.state] = clause.value;
  if (fold == Fold::LogSumExp) steps.step = smooth_steps_of_logsumexp(t);
  steps.result = definition.result.node() ? definition.result : named(definition.states[0]);
  if (fold == Fold::Var || fold == Fold::Std)
    steps.result =
        facts::substitute(steps.result, {{"correction", t.num(use.correction.value_or(0))}});
  if (fold == Fold::Std) steps.result = root(steps.result);
  if (!use.state.empty()) steps.result = named(use.state);
  return steps;
}

} // namespace

Steps steps_of(const FoldUse &use, const facts::Terms &t) {
  Steps steps = defined_steps(use, t);
  std::vector<std::string> names = steps.states;
  names.insert(names.end(), steps.args.begin(), steps.args.end());
  const auto is_taken = [&](const std::string &name) { return name.rfind(steps.prefix, 0) == 0; };
  while (std::any_of(names.begin(), names.end(), is_taken)) steps.prefix = "l" + steps.prefix;
  return steps;
}

Flows::Flows(facts::Facts &facts, const Steps &steps, const facts::Terms &t) : steps_(steps) {
  for (const std::string &state : steps.states)
    from_[state] =
        pull_clauses(facts, steps, steps.step, {{state, named(steps.prefix + state)}}, t);
  for (const std::string &state : steps.states) {
    std::unordered_set<std::string> &reached = reached_[state];
    std::vector<std::string> work{state};
    while (!work.empty()) {
      const std::string name = work.back();
      work.pop_back();
      if (!reached.insert(name).second || from_.count(name) == 0) continue;
      for (const auto &[into, value] : from_.at(name))
        if (value.node()) work.push_back(into);
    }
  }
}

bool Flows::reaches_argument(const std::string &from) const {
  return std::any_of(steps_.args.begin(), steps_.args.end(),
                     [&](const std::string &arg) { return reaches(from, arg); });
}

bool Flows::stays(const std::string &state) const {
  const auto own = from_.at(state).find(state);
  if (own == from_.at(state).end() || !own->second.node()) return false;
  const ExprNode &same = *own->second.node();
  const bool comes_back =
      std::any_of(steps_.states.begin(), steps_.states.end(), [&](const std::string &other) {
        return other != state && reaches(state, other) && reaches(other, state);
      });
  return !comes_back && same.kind == ExprKind::Parameter && same.name == steps_.prefix + state;
}

Expr without_ones(const Expr &root, const facts::Terms &t) {
  const auto is_one = [](const Expr &expr) {
    return expr.node()->kind == ExprKind::Parameter && expr.node()->name == one;
  };
  const Expr shorter = facts::exchange(root, [&](const ExprNode &node) {
    if (node.kind != ExprKind::Op || node.op != Op::Mul) return Expr();
    return is_one(node.args[0]) ? node.args[1] : is_one(node.args[1]) ? node.args[0] : Expr();
  });
  return facts::substitute(shorter, {{one, t.num(1)}});
}

Expr ScanBack::once(const Expr &value) const {
  if (!beyond.node()) return value;
  const facts::Terms t(value.node()->where);
  return t.where(beyond, t.num(0), value);
}

expr::AxisSet folded_axes(facts::Facts &facts, const ExprNode &node) {
  expr::AxisSet folded;
  if (node.kind == ExprKind::Scan || !node.axes.empty())
    for (const AxisRef &ref : node.axes)
      folded = folded | expr::AxisSet::of(facts.space().axis(ref, node.where));
  else
    for (std::size_t k = 0; k < node.folded; ++k) folded = folded | facts.axes(node.args[k]);
  return folded;
}

int only_axis(facts::Facts &facts, const ExprNode &node, const std::string &name) {
  const expr::AxisSet folded = folded_axes(facts, node);
  if (folded.size() != 1 || !node.use->like.empty()) {
    const AccumulatorDef *own = node.use->accumulator.definition().get();
    const bool in_order = own != nullptr && own->combine.empty();
    support::fail(
        "E0601",
        "what flows back through '" + name + "' goes along one axis, and this one folds " +
            facts.space().axis_list(folded) +
            (in_order ? ", in order, as it has no combine" : ", as like= says"),
        facts.space().shown(node.where),
        in_order ? "give it a combine; without one two axes with labels may be folded, in "
                   "a kernel without lets that are arrays"
                 : "name the axes that it folds");
  }
  int axis = 0;
  while (!folded.has(axis)) ++axis;
  return axis;
}

void check_real(facts::Facts &facts, const ExprNode &node, const std::string &name) {
  for (const Expr &arg : node.args)
    if (facts.is_complex(arg))
      support::fail("E0601",
                    "the gradient of '" + name + "' of complex numbers is not in this version",
                    facts.space().shown(node.where),
                    "accumulate real(x) and imag(x) apart, or use sum, mean or prod");
}

std::vector<std::string> lenders_of(facts::Facts &facts, const ExprNode &node, int axis) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < node.folded; ++k)
    for (const std::string &name : facts.lenders(node.args[k], axis))
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

Names pull_clauses(facts::Facts &facts, const Steps &steps, const Names &clauses,
                   const Names &seeds, const facts::Terms &t) {
  Names sum;
  for (const std::string &state : steps.states) {
    const auto seed = seeds.find(state);
    if (seed == seeds.end() || !seed->second.node()) continue;
    const Names pulled = pull_defined(facts, clauses.at(state), seed->second);
    for (const auto &[name, value] : pulled) sum[name] = t.add(sum[name], value);
  }
  return sum;
}

Expr fold_of_one(const FoldUse &use, const Expr &x, const Place &where) {
  const facts::Terms t(where);
  if (spec::keeps_one_element(use)) return x;
  switch (use.accumulator.fold()) {
  case Fold::Sum:
  case Fold::Prod:
  case Fold::Mean:
  case Fold::Min:
  case Fold::Max:
  case Fold::LogSumExp: break;
  case Fold::Norm: return t.op(Op::Abs, {x});
  case Fold::Var:
  case Fold::Std:
    if (use.init.empty()) return t.num(0); // or NaN, as flat
    break;
  case Fold::Any:
  case Fold::All:
  case Fold::ArgMin:
  case Fold::ArgMax: return t.num(0); // flat
  case Fold::User: break;
  }
  const Steps steps = steps_of(use, t);
  Names before, after;
  for (std::size_t k = 0; k < steps.states.size(); ++k) {
    const std::string &state = steps.states[k];
    before[state] = use.init.empty() ? steps.init.at(state) : use.init[k];
  }
  for (const std::string &arg : steps.args) before[arg] = x;
  for (const auto &[state, step] : steps.step) after[state] = facts::substitute(step, before);
  return facts::substitute(steps.result, after);
}

} // namespace broadloom::grad
