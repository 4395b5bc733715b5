// Folds and scans by their definition: the general recurrence.
//
//   s[t] = step(s[t-1], x[t])                     forward, from init
//   l[t-1] = l[t] . d step / d s (s[t-1], x[t])   backward: l[t] is the cotangent of the states
//                                                 after step t
//   d_x[t] = l[t] . d step / d x (s[t-1], x[t])
//
// The backward sweep is an accumulator again, with the states s[t-1] and the elements as its
// arguments, scanned from the other end; the derivatives of the step are taken symbolically, by the
// rules of any expression. Example: a' = 0.5 a + m over 1 2 4 gives l = 0.25 0.5 1 = d_m.
#include "grad/recurrence.hpp"

#include "facts/substitute.hpp"
#include "grad/shape.hpp"
#include "grad/tidy.hpp"
#include "spec/definition.hpp"

#include <algorithm>
#include <unordered_set>

namespace broadloom::grad {
namespace {

using ops::Op;

// Under which condition something flows from a scan into what it scans: if it does at a later
// position. The mask may be 1 where the scan has more positions.
Expr mask_before(facts::Facts &facts, const Expr &scan, const Expr &mask) {
  const ExprNode &node = *scan.node();
  const int axis = facts.space().axis(node.axes[0], node.where);
  if (!mask.node() || !facts.axes(mask).has(axis)) return mask;
  FoldUse use;
  use.accumulator = Accumulator(Fold::Any);
  use.exclusive = node.use->exclusive;
  use.reverse = !node.use->reverse;
  const bool firm = facts.is_firm(expr::AxisSet::of(axis));
  const Expr whole = firm ? mask : repeated_like(scan, mask, facts::Terms(node.where));
  return make_scan(use, {whole}, node.axes[0], node.where);
}

class Recurrence {
public:
  Recurrence(Sweep &sweep, const Expr &self, const Cotangent &g, const ScanBack &back)
      : sweep_(sweep), facts_(sweep.facts()), node_(*self.node()), t_(node_.where), g_(g),
        back_(back), steps_(steps_of(*node_.use, t_)), is_scan_(node_.kind == ExprKind::Scan) {
    name_ = std::string(spec::name_of(node_.use->accumulator));
  }

  void run() {
    axis_ = only_axis(facts_, node_, name_);
    check_real(facts_, node_, name_);
    for (std::size_t k = 0; k < node_.args.size(); ++k) {
      const Expr &arg = node_.args[k];
      const bool is_count = k >= node_.folded && !facts_.is_continuous(arg); // of an integer state
      const Expr wide = is_count ? arg : make_cast(DType::F64, arg, node_.where);
      (k < node_.folded ? elements_ : init_).push_back(wide);
    }
    for (std::size_t k = 0; k < steps_.states.size(); ++k)
      before_[steps_.states[k]] = forward_scan(steps_.states[k], true);
    find_seeds();
    find_live();
    if (live_.empty()) return;
    find_read();
    const Accumulator back = backward();
    std::vector<Expr> after;
    for (const std::string &state : live_) after.push_back(backward_scan(back, state, true));
    pull_elements(after);
    pull_init(back);
  }

private:
  std::string l(const std::string &state) const { return steps_.prefix + state; }
  std::string q(const std::string &state) const { return l(state) + "_here"; }

  // The definition without its combine: what is stepped through must be what the derivative is of.
  Accumulator stepping(const std::string &name, const Expr &result) const {
    return facts_.helper(name, [&](const std::string &free) {
      Accumulator made = accumulator(free, steps_.states, steps_.args);
      for (const std::string &state : steps_.states)
        made = made.init(state, steps_.init.at(state)).step(state, steps_.step.at(state));
      return made.result(result);
    });
  }

  // A scan along the only axis that there is, where nothing but blocks of it can be shared out.
  // Beside others ordered steps are faster, as each lane takes a row.
  bool is_alone() const {
    const auto has_one = [&](const Expr &value) { return facts_.axes(value).size() == 1; };
    return is_scan_ && has_one(g_.value) && std::ranges::all_of(elements_, has_one);
  }

  // A state before each step.
  Expr forward_scan(const std::string &state, bool exclusive) const {
    FoldUse use;
    use.exclusive = exclusive;
    use.reverse = node_.use->reverse;
    use.init = init_;
    const Fold fold = node_.use->accumulator.fold();
    if (is_alone() && (fold == Fold::Prod || fold == Fold::Min || fold == Fold::Max)) {
      use.accumulator = Accumulator(fold);
      if (exclusive && fold != Fold::Prod && use.init.empty())
        use.init = {steps_.init.at(state)}; // of nothing
    } else {
      use.accumulator = stepping(name_ + "_steps", named(steps_.states[0]));
      use.state = state;
    }
    return make_scan(use, elements_, facts_.axis_ref(axis_), node_.where);
  }

  // The state after all steps.
  Expr final_state(const std::string &state) const {
    FoldUse use;
    use.accumulator = stepping(name_ + "_to_" + state, named(state));
    use.init = init_;
    return make_fold(use, elements_, {facts_.axis_ref(axis_)}, node_.where);
  }

  Names pull_step(const Names &seeds) const {
    return pull_clauses(facts_, steps_, steps_.step, seeds, t_);
  }

  // d result . g at certain states.
  Names pull_result(const Names &states) const {
    Names seeds = pull_defined(facts_, steps_.result, named("g"));
    Names values = states;
    values["g"] = g_.value;
    for (auto &[name, value] : seeds) value = facts::substitute(value, values);
    return seeds;
  }

  // The states whose cotangent is not 0 for certain: an exponent that the result does not read has
  // none.
  void find_live() {
    const Flows flows(facts_, steps_, t_);
    for (const std::string &state : steps_.states)
      for (const auto &[from, seed] : of_result_)
        if (seed.node() && flows.reaches(from, state) &&
            std::find(live_.begin(), live_.end(), state) == live_.end())
          live_.push_back(state);
  }

  Accumulator backward() {
    std::string kind = !is_scan_              ? "_back"
                       : node_.use->exclusive ? "_scan_back_exclusive"
                                              : "_scan_back";
    if (live_.size() < steps_.states.size())
      for (const std::string &state : live_) kind += "_" + state;
    if (read_.size() < steps_.states.size()) kind += "_alone";
    if (factor().node()) kind += "_in_blocks";
    return facts_.helper(name_ + kind,
                         [&](const std::string &free) { return make_backward(free); });
  }

  Names seeds_of_step() const {
    Names seeds;
    const bool adds_after = is_scan_ && !node_.use->exclusive;
    for (const std::string &state : live_)
      seeds[state] = adds_after ? t_.add(named(l(state)), named(q(state))) : named(l(state));
    return seeds;
  }

  // The states that the steps back read. Where a step is linear in one, it reads none, and nobody
  // has to scan it. What is started from given values has their axes, which the elements may lack:
  // there all are read.
  void find_read() {
    std::unordered_set<std::string> names;
    const Names pulled = pull_step(seeds_of_step());
    for (const std::string &state : live_)
      if (const auto found = pulled.find(state); found != pulled.end() && found->second.node())
        expr::Walker().walk(found->second.node(), [&](const ExprNode &node) {
          if (node.kind == ExprKind::Parameter) names.insert(node.name);
        });
    for (const std::string &state : steps_.states)
      if (!init_.empty() || names.count(state)) read_.push_back(state);
  }

  // Of a scan, each position adds the cotangent of its own value: q.
  Accumulator make_backward(const std::string &free) const {
    std::vector<std::string> states, args = read_;
    args.insert(args.end(), steps_.args.begin(), steps_.args.end());
    for (const std::string &state : live_) {
      states.push_back(l(state));
      if (is_scan_) args.push_back(q(state));
    }
    if (factor().node()) states.push_back(back_factor());
    const Names pulled = pull_step(seeds_of_step());
    Accumulator made = accumulator(free, states, args);
    for (const std::string &state : live_) {
      const auto found = pulled.find(state);
      Expr next = found == pulled.end() || !found->second.node() ? Expr() : found->second;
      if (is_scan_ && node_.use->exclusive) next = t_.add(next, named(q(state)));
      if (!next.node()) next = t_.num(0);
      next = Tidier(facts_, numbers()).run(next);
      made = made.init(l(state), number(0)).step(l(state), next);
    }
    if (const Expr factor = this->factor(); factor.node()) {
      const std::string &state = live_[0];
      const Expr sum = named(l(state)), others = named(l(state) + "_other"),
                 f = named(back_factor()), after = named(back_factor() + "_other");
      made = made.init(back_factor(), number(1)).step(back_factor(), t_.mul(f, factor));
      // A block of large elements may have an infinite factor, and nothing to multiply with it.
      const Expr moved = t_.where(t_.op(Op::Eq, {sum, t_.num(0)}), t_.num(0), t_.mul(sum, after));
      made = made.combine(l(state), t_.add(others, moved));
      made = made.combine(back_factor(), t_.mul(f, after));
    }
    return made;
  }

  // A step back is linear in the cotangents. With a single one, many steps are one factor and what
  // they add, so blocks of them can be joined: l = l_other + f_other l. Here the factor of one
  // step, of which there is none where it is always 0.
  Expr factor() const {
    if (!is_alone() || live_.size() != 1) return {};
    const Names pulled = pull_step({{live_[0], named(one)}});
    const auto found = pulled.find(live_[0]);
    if (found == pulled.end() || !found->second.node()) return {};
    return Tidier(facts_, numbers()).run(without_ones(found->second, t_));
  }
  std::string back_factor() const { return steps_.prefix + "factor_of_" + live_[0]; }
  Expr number(double value) const {
    Number number;
    number.kind = Number::Kind::Float;
    number.real = value;
    return make_literal(number, node_.where);
  }

  // Elements are cast to f64, and so is what flows; states of the kernel's accumulator may be bool.
  std::unordered_set<std::string> numbers() const {
    std::unordered_set<std::string> names(steps_.args.begin(), steps_.args.end());
    for (const std::string &state : live_) names.insert({l(state), q(state)});
    return names;
  }

  // What the result pulls back into the states that it is made of.
  void find_seeds() {
    Names at = before_;
    if (is_scan_ && !node_.use->exclusive)
      for (const std::string &state : steps_.states) at[state] = forward_scan(state, false);
    if (!is_scan_) {
      at.clear();
      for (const std::string &state : steps_.states) at[state] = final_state(state);
    }
    for (const auto &[state, value] : pull_result(at))
      of_result_[state] = g_.mask.node() && value.node() ? t_.where(g_.mask, value) : value;
  }

  Expr of_result(const std::string &state) const {
    const auto found = of_result_.find(state);
    return found == of_result_.end() || !found->second.node()
               ? make_cast(DType::F64, t_.num(0), node_.where)
               : found->second;
  }

  // The cotangent of a state after each step, as it comes from the later ones.
  Expr backward_scan(const Accumulator &back, const std::string &state, bool exclusive) const {
    FoldUse use;
    use.accumulator = back;
    use.exclusive = exclusive;
    use.reverse = !node_.use->reverse;
    use.state = l(state);
    std::vector<Expr> args;
    for (const std::string &name : read_) args.push_back(before_.at(name));
    args.insert(args.end(), elements_.begin(), elements_.end());
    for (const std::string &name : live_)
      if (is_scan_)
        args.push_back(of_result(name));
      else
        use.init.push_back(of_result(name));
    return make_scan(use, args, facts_.axis_ref(axis_), node_.where);
  }

  void pull_elements(const std::vector<Expr> &after) {
    Names seeds, values = before_;
    for (std::size_t k = 0; k < live_.size(); ++k) {
      const std::string &state = live_[k];
      const bool adds_after = is_scan_ && !node_.use->exclusive;
      seeds[state] = named(l(state));
      values[l(state)] = adds_after ? t_.add(after[k], of_result(state)) : after[k];
    }
    for (std::size_t k = 0; k < steps_.args.size(); ++k) values[steps_.args[k]] = elements_[k];
    const Names pulled = pull_step(seeds);
    for (std::size_t k = 0; k < node_.folded; ++k) {
      const auto found = pulled.find(steps_.args[k]);
      if (found == pulled.end() || !found->second.node()) continue;
      const Expr value = back_.once(facts::substitute(found->second, values));
      sweep_.flow(node_.args[k], masked({value, {}}, {g_.value, back_.mask}, t_), t_);
    }
  }

  // What flows past the first step.
  void pull_init(const Accumulator &back) {
    for (std::size_t k = node_.folded; k < node_.args.size(); ++k) {
      if (!facts_.depends(node_.args[k])) continue;
      const std::string &state = steps_.states[k - node_.folded];
      if (std::find(live_.begin(), live_.end(), state) == live_.end()) continue;
      const Expr all = back_.once(backward_scan(back, state, false));
      const std::vector<std::string> of = lenders_of(facts_, node_, axis_);
      const AxisRef axis = facts_.axis_ref(axis_);
      const Expr at = make_iota(axis, of, node_.where);
      const Expr first =
          node_.use->reverse ? t_.sub(make_extent(axis, of, node_.where), t_.num(1)) : t_.num(0);
      const Expr value = make_fold({}, {t_.where(t_.op(Op::Eq, {at, first}), all)},
                                   {facts_.axis_ref(axis_)}, node_.where);
      const Cotangent earliest{g_.value, sweep_.any_over(g_.mask, expr::AxisSet::of(axis_), t_)};
      sweep_.flow(node_.args[k], masked({value, {}}, earliest, t_), t_);
    }
  }

  Sweep &sweep_;
  facts::Facts &facts_;
  const ExprNode &node_;
  facts::Terms t_;
  Cotangent g_;
  const ScanBack &back_;
  Steps steps_;
  bool is_scan_;
  std::string name_;
  int axis_ = 0;
  std::vector<Expr> elements_, init_; // in f64
  Names before_, of_result_;
  std::vector<std::string> live_; // states
  std::vector<std::string> read_; // states, by the steps back
};

} // namespace

void pull_recurrence(Sweep &sweep, const Expr &fold, const Cotangent &g) {
  if (is_associative(*fold.node()) && pull_associative(sweep, fold, g)) return;
  Recurrence(sweep, fold, g, {g.mask, {}}).run();
}

void pull_scan(Sweep &sweep, const Expr &scan, const Cotangent &given) {
  const ExprNode &node = *scan.node();
  facts::Facts &facts = sweep.facts();
  const facts::Terms t(node.where);
  const int axis = facts.space().axis(node.axes[0], node.where);
  Cotangent g = given;
  if (!facts.axes(g.value).has(axis)) g.value = repeated_like(scan, g.value, t);
  ScanBack back;
  if (facts.may_be_repeated(scan, axis)) {
    // A 1 that was repeated was scanned before: all that flows into it comes together at position
    // 0.
    const Expr single = t.op(Op::Eq, {facts.extent(scan, axis, t), t.num(1)});
    const Expr position = facts.index(g.value, axis, t);
    back.beyond = t.both(single, t.op(Op::Gt, {position, t.num(0)}));
    g = sweep.at_start(g, single, position, axis, t);
  }
  back.mask = mask_before(facts, scan, g.mask);
  const auto give = [&](const Expr &value) {
    sweep.flow(node.args[0], {back.once(value), back.mask}, t);
  };
  switch (node.use->accumulator.fold()) {
  case Fold::Sum: {
    if (node.args.size() > node.folded) break;
    FoldUse use = *node.use;
    use.reverse = !use.reverse;
    return give(make_scan(use, {g.value}, node.axes[0], node.where));
  }
  case Fold::Mean: {
    const Expr at = facts.index(scan, axis, t);
    const Expr count = node.use->reverse     ? t.sub(facts.extent(scan, axis, t), at)
                       : node.use->exclusive ? at
                                             : t.add(at, t.num(1));
    FoldUse use = *node.use;
    use.accumulator = Accumulator(Fold::Sum);
    use.reverse = !use.reverse;
    const Expr share =
        t.div(g.value, node.use->reverse && node.use->exclusive ? t.sub(count, t.num(1)) : count);
    const Expr safe =
        node.use->exclusive ? t.where(t.op(Op::IsInf, {share}), t.num(0), share) : share;
    return give(make_scan(use, {safe}, node.axes[0], node.where));
  }
  case Fold::LogSumExp:
    if (!node.use->state.empty()) break;
    return pull_running_logsumexp(sweep, scan, g, back);
  case Fold::Any:
  case Fold::All: return;
  case Fold::ArgMin:
  case Fold::ArgMax:
    return fail_no_rule(facts,
                        "the scan of '" + std::string(spec::name_of(node.use->accumulator)) + "'",
                        node.where);
  case Fold::Prod:
  case Fold::Min:
  case Fold::Max:
  case Fold::Var:
  case Fold::Std:
  case Fold::Norm:
  case Fold::User: break;
  }
  Recurrence(sweep, scan, g, back).run();
}

} // namespace broadloom::grad
