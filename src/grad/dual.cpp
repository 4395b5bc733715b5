// Folds and scans by their definition, going forward: each state and what it moves by, stepped in
// order.
//
//   s[t] = step(s[t-1], x[t])
//   t_s[t] = d step / d s (s[t-1], x[t]) . t_s[t-1] + d step / d x (s[t-1], x[t]) . t_x[t]
//
// That is an accumulator again, over pairs. Example: a' = 0.5 a + m * m over m that moves by t_m
// has t_a' = 0.5 t_a + t_m * 2 m. What is derived are the steps, as going back: joins of blocks
// would share a tie another time. So there is a combine only where steps and combine are
// polynomials, which have no ties.
#include "grad/recurrence.hpp"
#include "grad/tangents.hpp"

#include "expr/walk.hpp"
#include "spec/definition.hpp"
#include "support/fail.hpp"

#include <algorithm>

namespace broadloom::grad {
namespace {

bool is_polynomial(const Expr &root) {
  bool only = true;
  expr::Walker().walk(root.node(), [&](const ExprNode &node) {
    using ops::Op;
    const bool is_op = node.kind == ExprKind::Op &&
                       (node.op == Op::Add || node.op == Op::Sub || node.op == Op::Mul ||
                        node.op == Op::Neg || node.op == Op::Square || node.op == Op::Fma);
    only = only && (is_op || node.kind == ExprKind::Literal || node.kind == ExprKind::Parameter);
  });
  return only;
}

// The states that move by steps when these names do.
void move_states(facts::Facts &facts, const Steps &steps, const std::string &prefix, Names &names) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::string &state : steps.states) {
      if (names.contains(state)) continue;
      if (!push_defined(facts, steps.step.at(state), names).node()) continue;
      names[state] = named(prefix + state);
      changed = true;
    }
  }
}

class Dual {
public:
  Dual(const Tangents &tangents, const Expr &self)
      : tangents_(tangents), facts_(tangents.facts()), self_(self), node_(*self.node()),
        t_(node_.where), steps_(steps_of(*node_.use, t_)),
        name_(std::string(spec::name_of(node_.use->accumulator))) {
    const auto is_taken = [&](const std::string &name) { return name.starts_with(prefix_); };
    while (std::any_of(steps_.states.begin(), steps_.states.end(), is_taken) ||
           std::any_of(steps_.args.begin(), steps_.args.end(), is_taken))
      prefix_ = "t" + prefix_;
  }

  Expr run() {
    check_real(facts_, node_, name_);
    find_moving();
    const Expr result = push_defined(facts_, steps_.result, names_);
    if (!result.node()) return {};
    check_size();
    FoldUse use;
    use.accumulator = pairs(result);
    use.like = node_.use->like;
    use.exclusive = node_.use->exclusive;
    use.reverse = node_.use->reverse;
    use.init = starts();
    std::vector<Expr> args;
    for (std::size_t k = 0; k < node_.folded; ++k) args.push_back(wide(node_.args[k]));
    for (const std::size_t k : moving_args_) args.push_back(wide(tangents_.at(node_.args[k])));
    const Expr made = node_.kind == ExprKind::Scan
                          ? make_scan(use, args, node_.axes[0], node_.where)
                          : make_fold(use, args, node_.axes, node_.where);
    const DType type = facts_.dtype(self_);
    return type == DType::F32 ? make_cast(type, made, node_.where) : made;
  }

private:
  Expr wide(const Expr &x) const { return make_cast(DType::F64, x, node_.where); }
  Expr zero() const {
    Number zero;
    zero.kind = Number::Kind::Float;
    return make_literal(zero, node_.where);
  }
  std::string moved(const std::string &name) const { return prefix_ + name; }
  bool has_init() const { return node_.args.size() > node_.folded; }
  Expr start_of(std::size_t state) const {
    return has_init() ? tangents_.at(node_.args[node_.folded + state]) : Expr();
  }

  // The arguments and states that move: a count of steps does not.
  void find_moving() {
    for (std::size_t k = 0; k < node_.folded; ++k)
      if (tangents_.at(node_.args[k]).node()) {
        moving_args_.push_back(k);
        names_[steps_.args[k]] = named(moved(steps_.args[k]));
      }
    for (std::size_t k = 0; k < steps_.states.size(); ++k)
      if (start_of(k).node()) names_[steps_.states[k]] = named(moved(steps_.states[k]));
    move_states(facts_, steps_, prefix_, names_);
    for (std::size_t k = 0; k < steps_.states.size(); ++k)
      if (names_.contains(steps_.states[k])) moving_states_.push_back(k);
  }

  void check_size() const {
    if (steps_.states.size() + moving_states_.size() <= spec::max_states &&
        node_.folded + moving_args_.size() <= spec::max_arguments)
      return;
    support::fail("E0601",
                  "'" + name_ +
                      "' has too many states or arguments: with what each moves by, an "
                      "accumulator of it would have more than " +
                      std::to_string(spec::max_states),
                  facts_.space().shown(node_.where),
                  "take the gradient, or let fewer of its arguments move");
  }

  // One name for one definition.
  std::string kind() const {
    std::string kind = "_tangent";
    if (moving_args_.size() < node_.folded)
      for (const std::size_t k : moving_args_) kind += "_" + steps_.args[k];
    if (has_init())
      for (std::size_t k = 0; k < steps_.states.size(); ++k)
        if (start_of(k).node()) kind += "_from_" + steps_.states[k];
    if (!node_.use->state.empty()) kind += "_of_" + node_.use->state;
    if (const double correction = node_.use->correction.value_or(0); correction != 0) {
      std::string text = std::to_string(correction);
      std::replace_if(text.begin(), text.end(), [](char c) { return c == '.' || c == '-'; }, '_');
      kind += "_less_" + text.substr(0, text.find_last_not_of("0_") + 1);
    }
    return kind;
  }

  Accumulator pairs(const Expr &result) const {
    return facts_.helper(name_ + kind(), [&](const std::string &free) {
      std::vector<std::string> states = steps_.states, args = steps_.args;
      for (const std::size_t k : moving_states_) states.push_back(moved(steps_.states[k]));
      for (const std::size_t k : moving_args_) args.push_back(moved(steps_.args[k]));
      Accumulator made = accumulator(free, states, args);
      for (const std::string &state : steps_.states)
        made = made.init(state, steps_.init.at(state)).step(state, steps_.step.at(state));
      for (const std::size_t k : moving_states_) {
        const std::string &state = steps_.states[k];
        const Expr step = push_defined(facts_, steps_.step.at(state), names_);
        made = made.init(moved(state), zero()).step(moved(state), step.node() ? step : zero());
      }
      return (has_combine() ? joined(made) : made).result(result);
    });
  }

  bool has_combine() const {
    return !steps_.combine.empty() &&
           std::ranges::all_of(steps_.states, [&](const std::string &state) {
             return is_polynomial(steps_.step.at(state)) && is_polynomial(steps_.combine.at(state));
           });
  }

  Accumulator joined(Accumulator made) const {
    Names names;
    for (const std::size_t k : moving_states_) {
      const std::string &state = steps_.states[k];
      names[state] = named(moved(state));
      names[state + "_other"] = named(moved(state) + "_other");
    }
    for (const std::string &state : steps_.states)
      made = made.combine(state, steps_.combine.at(state));
    for (const std::size_t k : moving_states_) {
      const std::string &state = steps_.states[k];
      const Expr join = push_defined(facts_, steps_.combine.at(state), names);
      made = made.combine(moved(state), join.node() ? join : zero());
    }
    return made;
  }

  std::vector<Expr> starts() const {
    std::vector<Expr> starts;
    if (!has_init()) return starts;
    for (std::size_t k = node_.folded; k < node_.args.size(); ++k)
      starts.push_back(wide(node_.args[k]));
    for (const std::size_t k : moving_states_) {
      const Expr start = start_of(k);
      starts.push_back(wide(start.node() ? start : t_.num(0)));
    }
    return starts;
  }

  const Tangents &tangents_;
  facts::Facts &facts_;
  const Expr &self_;
  const ExprNode &node_;
  facts::Terms t_;
  Steps steps_;
  std::string name_, prefix_ = "t_";
  Names names_; // what moves, by its name: a parameter
  std::vector<std::size_t> moving_args_, moving_states_;
};

} // namespace

bool moves_result(facts::Facts &facts, const Expr &self, std::size_t k) {
  const ExprNode &node = *self.node();
  if (node.use->accumulator.fold() != Fold::User || k >= node.folded) return true;
  const Steps steps = steps_of(*node.use, facts::Terms(node.where));
  Names names{{steps.args[k], named(steps.args[k])}};
  move_states(facts, steps, "", names);
  return push_defined(facts, steps.result, names).node() != nullptr;
}

Expr push_recurrence(const Tangents &tangents, const Expr &self) {
  return Dual(tangents, self).run();
}

} // namespace broadloom::grad
