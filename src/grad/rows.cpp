// Accumulators of the user's over several axes, as folds of folds: each row along the last axis is
// folded by itself, and rows are joined by the combine.
//
//   weighted((x, w), i, j)     weighted_rows((weighted_total_s((x, w), j), weighted_total_n((x, w),
//                              j)), i)
//
//   accumulator weighted_rows(s, n, rows; s_row, n_row) {
//     init s = 0, n = 0, rows = 0
//     step s = where(rows > 0, s + s_row, s_row), .., rows = rows + 1
//
// The number of rows tells a start from a row, as a start need be no identity of the combine; it is
// left out where the start plainly is one, as 0 of a sum. What flows back to an element goes
// through the rows and then through the steps of its own, each along one axis.
#include "grad/recurrence.hpp"
#include "grad/sweep.hpp"

#include "facts/substitute.hpp"
#include "support/free_name.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace broadloom::grad {
namespace {

using ops::Op;

class Rows {
public:
  Rows(facts::Facts &facts, const Expr &fold)
      : facts_(facts), node_(*fold.node()), dtype_(facts.dtype(fold)), t_(node_.where),
        steps_(steps_of(*node_.use, t_)), name_(spec::name_of(node_.use->accumulator)) {
    std::set<std::string> taken(steps_.states.begin(), steps_.states.end());
    taken.insert(steps_.args.begin(), steps_.args.end());
    const auto fresh = [&](const std::string &name) { return support::fresh_name(name, taken); };
    const auto joins = [&](const std::string &state) {
      return joins_to_start(*steps_.combine.at(state).node(), state, steps_.init.at(state));
    };
    if (!std::ranges::all_of(steps_.states, joins)) count_ = fresh("rows");
    for (const std::string &state : steps_.states) args_.push_back(fresh(state + "_row"));
  }

  Expr of(const std::vector<int> &axes) const {
    std::vector<Expr> values;
    for (std::size_t k = 0; k < node_.folded; ++k)
      values.push_back(make_cast(DType::F64, node_.args[k], node_.where));
    for (std::size_t k = axes.size(); k-- > 1;) {
      std::vector<Expr> states;
      for (const std::string &state : steps_.states)
        states.push_back(fold(k + 1 == axes.size() ? total_of(facts_, steps_, name_, state)
                                                   : rows("_rows_to_" + state, named(state)),
                              values, axes[k], {}));
      values = std::move(states);
    }
    std::vector<Expr> init(node_.args.begin() + std::ptrdiff_t(node_.folded), node_.args.end());
    if (!init.empty() && !count_.empty()) init.push_back(t_.num(1)); // a row that is there
    const Expr all = fold(rows("_rows", steps_.result), values, axes[0], std::move(init));
    return dtype_ == DType::F64 ? all : make_cast(dtype_, all, node_.where);
  }

private:
  Expr fold(const Accumulator &accumulator, const std::vector<Expr> &values, int axis,
            std::vector<Expr> init) const {
    FoldUse use;
    use.accumulator = accumulator;
    use.init = std::move(init);
    return make_fold(use, values, {facts_.axis_ref(axis)}, node_.where);
  }

  // s + s_other from 0 and the like: what the start is joined to stays as it is.
  static bool joins_to_start(const ExprNode &joined, const std::string &state, const Expr &start) {
    const ExprNode *number = start.node();
    const bool negated = number->kind == ExprKind::Op && number->op == Op::Neg;
    if (negated) number = number->args[0].node();
    if (joined.kind != ExprKind::Op || joined.args.size() != 2 || number->kind != ExprKind::Literal)
      return false;
    const auto is = [](const ExprNode &node, const std::string &name) {
      return node.kind == ExprKind::Parameter && node.name == name;
    };
    const ExprNode &one = *joined.args[0].node(), &two = *joined.args[1].node();
    if ((!is(one, state) || !is(two, state + "_other")) &&
        (!is(two, state) || !is(one, state + "_other")))
      return false;
    const bool is_float = number->number.kind == Number::Kind::Float;
    const double size = is_float ? number->number.real : double(number->number.integer);
    const double value = negated ? -size : size;
    switch (joined.op) {
    case Op::Add: return value == 0;
    case Op::Mul: return value == 1;
    case Op::Maximum: return std::isinf(value) && value < 0;
    case Op::Minimum: return std::isinf(value) && value > 0;
    default: return false;
    }
  }

  Accumulator rows(const std::string &kind, const Expr &result) const {
    return facts_.helper(name_ + kind, [&](const std::string &free) {
      std::vector<std::string> states = steps_.states;
      if (!count_.empty()) states.push_back(count_);
      const auto some = [&](const std::string &count, const Expr &value, const Expr &other) {
        if (count_.empty()) return value;
        return t_.where(t_.op(Op::Gt, {named(count), t_.num(0)}), value, other);
      };
      Names row;
      for (std::size_t k = 0; k < args_.size(); ++k)
        row[steps_.states[k] + "_other"] = named(args_[k]);
      Accumulator made = accumulator(free, states, args_);
      for (std::size_t k = 0; k < args_.size(); ++k) {
        const std::string &state = steps_.states[k];
        const Expr &joined = steps_.combine.at(state);
        made = made.init(state, steps_.init.at(state))
                   .step(state, some(count_, facts::substitute(joined, row), named(args_[k])))
                   .combine(state, some(count_, some(count_ + "_other", joined, named(state)),
                                        named(state + "_other")));
      }
      Number none;
      none.kind = Number::Kind::Float; // as values of init= are given in f64
      if (!count_.empty())
        made = made.init(count_, make_literal(none, node_.where))
                   .step(count_, t_.add(named(count_), t_.num(1)))
                   .combine(count_, t_.add(named(count_), named(count_ + "_other")));
      return made.result(result);
    });
  }

  facts::Facts &facts_;
  const ExprNode &node_;
  const DType dtype_;
  const facts::Terms t_;
  const Steps steps_;
  const std::string name_;
  std::string count_;             // the state that counts rows; empty: none need be told
  std::vector<std::string> args_; // [state]
};

} // namespace

Accumulator total_of(facts::Facts &facts, const Steps &steps, const std::string &name,
                     const std::string &state) {
  return facts.helper(name + "_total_" + state, [&](const std::string &free) {
    Accumulator made = accumulator(free, steps.states, steps.args);
    for (const std::string &s : steps.states)
      made = made.init(s, steps.init.at(s)).step(s, steps.step.at(s));
    for (const std::string &s : steps.states) made = made.combine(s, steps.combine.at(s));
    return made.result(named(state));
  });
}

// A fold by an accumulator with a combine over several axes as folds of folds over one; empty:
// another.
static Expr by_rows(facts::Facts &facts, const Expr &fold) {
  const ExprNode &node = *fold.node();
  if (node.kind != ExprKind::Fold || node.use->accumulator.fold() != Fold::User ||
      node.use->accumulator.definition()->combine.empty() || !node.use->like.empty())
    return {};
  const expr::AxisSet folded = folded_axes(facts, node);
  if (folded.size() < 2) return {};
  check_real(facts, node, std::string(spec::name_of(node.use->accumulator)));
  return Rows(facts, fold).of(folded.list());
}

// A call has a body of its own.
Expr Sweep::body_of(const Expr &expr) {
  if (expr.node()->kind == ExprKind::Call) return facts_.by_body(expr);
  const auto [found, fresh] = rows_.try_emplace(expr.node());
  if (fresh && facts_.depends(expr)) found->second = by_rows(facts_, expr);
  if (fresh && found->second.node()) facts_.add(found->second);
  return found->second;
}

} // namespace broadloom::grad
