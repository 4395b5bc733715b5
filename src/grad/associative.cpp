// Folds of user accumulators that have a combine: every element by itself, from what comes before and after it.
//
//   total = combine(P[i], combine(L[i], R[i]))      P[i]: the states of all elements before i, R[i] of all after it,
//                                                   L[i] = step(init, x[i]): of it alone
//
// P and R are scans, which run in parallel blocks as the fold itself does; the cotangent of total goes through the two
// combines and the step at each position on its own. The recurrence (recurrence.cpp) would go from one to the next.
// Example: a' = 0.5 a + m has no combine and goes there; s' = s + w m, n' = n + w comes here.
#include "grad/recurrence.hpp"

#include "grad/substitute.hpp"

namespace broadloom::grad {
namespace {

using ops::Op;

class Associative {
public:
  Associative(Sweep &sweep, const Expr &self, const Cotangent &g)
      : sweep_(sweep), facts_(sweep.facts()), node_(*self.node()), t_(node_.where), g_(g),
        steps_(steps_of(*node_.use, t_)),
        name_(std::string(spec::name_of(node_.use->accumulator))) {}

  void run() {
    check_real(facts_, node_, name_);
    const int along = only_axis(facts_, node_, name_);
    const AxisRef axis = facts_.axis_ref(along);
    const std::vector<std::string> lenders = lenders_of(facts_, node_, along);
    const Expr at = make_iota(axis, lenders, node_.where);
    const Expr last = t_.sub(make_extent(axis, lenders, node_.where), t_.num(1));
    std::vector<Expr> elements;
    for (const Expr &arg : node_.args) elements.push_back(make_cast(DType::F64, arg, node_.where));
    const Accumulator suffix = make_suffix();
    Names total, before, after, alone, rest;
    for (const std::string &state : steps_.states) {
      FoldUse use;
      use.accumulator = node_.use->accumulator;
      use.state = state;
      use.exclusive = true;
      before[state] = start_at(t_.num(0), at, state, make_scan(use, elements, axis, node_.where));
      use.accumulator = suffix;
      use.reverse = true;
      after[state] = start_at(last, at, state, make_scan(use, elements, axis, node_.where));
      total[state] = final_state(state, elements, axis);
    }
    Names at_start = steps_.init;
    for (std::size_t k = 0; k < steps_.args.size(); ++k) at_start[steps_.args[k]] = elements[k];
    for (const std::string &state : steps_.states)
      alone[state] = substitute(steps_.step.at(state), at_start);
    for (const std::string &state : steps_.states)
      rest[state] = substitute(steps_.combine.at(state), both(alone, after));

    Names seeds = of_result(total);
    seeds = pulled(steps_.combine, seeds, both(before, rest), "_other");
    seeds = pulled(steps_.combine, seeds, both(alone, after), "");
    const Names into = pull_clauses(facts_, steps_, steps_.step, seeds, t_);
    for (std::size_t k = 0; k < node_.folded; ++k) {
      const auto found = into.find(steps_.args[k]);
      if (found == into.end() || !found->second.node()) continue;
      sweep_.flow(node_.args[k],
                  masked({substitute(found->second, at_start), {}}, {g_.value, g_.mask}, t_), t_);
    }
  }

private:
  // Nothing comes before the first element or after the last. There the scan joins a start with a start, which not
  // every combine can do: exp(-inf - -inf).
  Expr start_at(const Expr &position, const Expr &at, const std::string &state,
                const Expr &scan) const {
    return t_.where(t_.op(Op::Eq, {at, position}), steps_.init.at(state), scan);
  }

  // The states of all from one element on: its own come first in the combine, those after it are the state.
  Accumulator make_suffix() const {
    return facts_.helper(name_ + "_suffix", [&](const std::string &free) {
      Accumulator made = accumulator(free, steps_.states, steps_.args);
      Names own, turned;
      for (const std::string &state : steps_.states) {
        own[state] = substitute(steps_.step.at(state), steps_.init);
        turned[state] = named(state + "_other");
        turned[state + "_other"] = named(state);
      }
      for (const std::string &state : steps_.states) own[state + "_other"] = named(state);
      for (const std::string &state : steps_.states)
        made = made.init(state, steps_.init.at(state))
                   .step(state, substitute(steps_.combine.at(state), own));
      for (const std::string &state : steps_.states)
        made = made.combine(state, substitute(steps_.combine.at(state), turned));
      return made;
    });
  }

  Expr final_state(const std::string &state, const std::vector<Expr> &elements,
                   const AxisRef &axis) const {
    const Accumulator whole =
        facts_.helper(name_ + "_total_" + state, [&](const std::string &free) {
          Accumulator made = accumulator(free, steps_.states, steps_.args);
          for (const std::string &s : steps_.states)
            made = made.init(s, steps_.init.at(s)).step(s, steps_.step.at(s));
          for (const std::string &s : steps_.states) made = made.combine(s, steps_.combine.at(s));
          return made.result(named(state));
        });
    FoldUse use;
    use.accumulator = whole;
    return make_fold(use, elements, {axis}, node_.where);
  }

  Names both(const Names &states, const Names &others) const {
    Names values = states;
    for (const std::string &state : steps_.states) values[state + "_other"] = others.at(state);
    return values;
  }

  // The cotangents of the states in the result.
  Names of_result(const Names &total) const {
    Names seeds = pull_defined(facts_, steps_.result, named("g")), values = total;
    values["g"] = g_.value;
    for (auto &[name, value] : seeds) {
      if (!value.node()) continue;
      value = substitute(value, values);
      if (g_.mask.node()) value = t_.where(g_.mask, value);
    }
    return seeds;
  }

  // Through clauses at certain values, into the states whose names end so.
  Names pulled(const Names &clauses, const Names &seeds, const Names &values,
               const std::string &ending) const {
    Names parameters;
    for (const auto &[state, seed] : seeds)
      if (seed.node()) parameters[state] = named("l_" + state);
    Names at = values, result;
    for (const auto &[state, seed] : seeds)
      if (seed.node()) at["l_" + state] = seed;
    const Names into = pull_clauses(facts_, steps_, clauses, parameters, t_);
    for (const std::string &state : steps_.states) {
      const auto found = into.find(state + ending);
      if (found != into.end() && found->second.node())
        result[state] = substitute(found->second, at);
    }
    return result;
  }

  Sweep &sweep_;
  Facts &facts_;
  const ExprNode &node_;
  Terms t_;
  Cotangent g_;
  Steps steps_;
  std::string name_;
};

} // namespace

bool is_associative(const ExprNode &fold) {
  return fold.kind != ExprKind::Scan && fold.use->accumulator.fold() == Fold::User &&
         fold.args.size() == fold.folded && !fold.use->accumulator.definition()->combine.empty();
}

void pull_associative(Sweep &sweep, const Expr &fold, const Cotangent &g) {
  Associative(sweep, fold, g).run();
}

} // namespace broadloom::grad
