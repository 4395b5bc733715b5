// Folds of user accumulators that have a combine: the recurrence of recurrence.cpp, in parallel
// blocks.
//
//   l[t-1] = l[t] . d step / d s (s[t-1], x[t])      the cotangent of the states, from the end
//
// Each step is linear in l, and so are many: a block of steps is a table of how much of each
// state's cotangent becomes how much of each other's, and blocks are joined by multiplying their
// tables. The tables are scanned from the end, the states before each step from the start, both in
// parallel blocks.
//
// What is derived are the steps, in order: the joins of blocks would share a tie again at each
// join, in another way for each number of elements. Example: m' = maximum(m, x) over three equal
// elements gives weights 1/4 1/4 1/2, whose sum is 1; s' = s + w m needs no table, as each
// cotangent stays what it is.
#include "grad/recurrence.hpp"
#include "grad/shape.hpp"

#include "facts/substitute.hpp"
#include "spec/definition.hpp"

#include <algorithm>
#include <unordered_set>

namespace broadloom::grad {
namespace {

using ops::Op;

class Associative {
public:
  Associative(Sweep &sweep, const Expr &self, const Cotangent &g)
      : sweep_(sweep), facts_(sweep.facts()), node_(*self.node()), t_(node_.where), g_(g),
        steps_(steps_of(*node_.use, t_)), flows_(facts_, steps_, t_),
        name_(std::string(spec::name_of(node_.use->accumulator))) {}

  // False where the table is too large for an accumulator.
  bool run() {
    check_real(facts_, node_, name_);
    axis_ = only_axis(facts_, node_, name_);
    for (const Expr &arg : node_.args) elements_.push_back(make_cast(DType::F64, arg, node_.where));
    find_seeds();
    find_entries();
    find_steps();
    if (entries_.size() > spec::max_states || read_.size() > spec::max_arguments) return false;
    pull_elements();
    return true;
  }

private:
  // How much of `from`'s cotangent has become `into`'s.
  struct Entry {
    std::string from, into, name;
    Expr step;
  };

  // ---- forward

  // Nothing comes before the first element. There the scan joins a start with a start, which not
  // every combine can
  // do: exp(-inf - -inf).
  Expr before(const std::string &state) {
    Expr &made = before_[state];
    if (made.node()) return made;
    FoldUse use;
    use.accumulator = node_.use->accumulator;
    use.state = state;
    use.exclusive = true;
    const AxisRef axis = facts_.axis_ref(axis_);
    const Expr at = make_iota(axis, lenders_of(facts_, node_, axis_), node_.where);
    return made = t_.where(t_.op(Op::Eq, {at, t_.num(0)}), steps_.init.at(state),
                           make_scan(use, elements_, axis, node_.where));
  }

  Expr final_state(const std::string &state) const {
    FoldUse use;
    use.accumulator = total_of(facts_, steps_, name_, state);
    return make_fold(use, elements_, {facts_.axis_ref(axis_)}, node_.where);
  }

  // The cotangents of the states in the result.
  void find_seeds() {
    seeds_ = pull_defined(facts_, steps_.result, named("g"));
    Names values;
    for (const std::string &state : steps_.states) values[state] = final_state(state);
    values["g"] = g_.value;
    for (auto &[name, value] : seeds_) {
      if (!value.node()) continue;
      value = facts::substitute(value, values);
      if (g_.mask.node()) value = t_.where(g_.mask, value);
    }
  }

  // ---- the table

  // Those that a seed reaches and that reach an element. What stays 1 is no entry.
  void find_entries() {
    std::vector<std::string> live;
    for (const std::string &state : steps_.states) {
      const auto leads_here = [&](const std::string &from) {
        return has_seed(from) && flows_.reaches(from, state);
      };
      if (flows_.reaches_argument(state) &&
          std::any_of(steps_.states.begin(), steps_.states.end(), leads_here))
        live.push_back(state);
    }
    for (const std::string &from : live)
      for (const std::string &into : live) {
        if (!flows_.reaches(from, into) || (from == into && flows_.stays(from))) continue;
        const std::string l = steps_.prefix + from;
        entries_.push_back({from, into, from == into ? l : l + "_to_" + into, {}});
      }
    live_ = std::move(live);
  }

  bool has_seed(const std::string &state) const {
    const auto found = seeds_.find(state);
    return found != seeds_.end() && found->second.node();
  }
  const Entry *entry(const std::string &from, const std::string &into) const {
    for (const Entry &e : entries_)
      if (e.from == from && e.into == into) return &e;
    return nullptr;
  }
  bool is_one(const std::string &from, const std::string &into) const {
    return from == into && flows_.stays(from);
  }

  void find_steps() {
    std::unordered_set<std::string> names;
    for (const std::string &from : live_) {
      Names row;
      for (const std::string &into : live_)
        if (const Entry *e = entry(from, into))
          row[into] = named(e->name);
        else if (is_one(from, into))
          row[into] = named(one);
      const Names next = pull_clauses(facts_, steps_, steps_.step, row, t_);
      for (Entry &e : entries_) {
        if (e.from != from) continue;
        const auto found = next.find(e.into);
        const bool flows = found != next.end() && found->second.node();
        e.step = flows ? without_ones(found->second, t_) : t_.num(0);
        expr::Walker().walk(e.step.node(), [&](const ExprNode &node) {
          if (node.kind == ExprKind::Parameter) names.insert(node.name);
        });
      }
    }
    for (const std::string &state : steps_.states)
      if (names.count(state)) read_.push_back({state, before(state)});
    for (std::size_t k = 0; k < steps_.args.size(); ++k)
      if (names.count(steps_.args[k])) read_.push_back({steps_.args[k], elements_[k]});
    // What the table reads must show every position that is folded; the states before do.
    const bool shows = std::any_of(read_.begin(), read_.end(), [&](const auto &read) {
      return before_.count(read.first) || (is_firm() && has_axis(read.second));
    });
    if (shows) return;
    for (std::size_t k = 0; k < steps_.args.size(); ++k)
      if (!names.count(steps_.args[k])) {
        read_.push_back({steps_.args[k], elements_[k]});
        kind_ = "_table_of_all";
      }
  }

  bool is_firm() const { return facts_.is_firm(expr::AxisSet::of(axis_)); }
  bool has_axis(const Expr &value) const { return facts_.axes(value).has(axis_); }

  // What flows into an argument, from every position.
  Expr whole(const Expr &value, const Expr &arg) const {
    if (is_firm() && (has_axis(value) || has_axis(arg))) return value;
    Expr made = value;
    for (const Expr &element : elements_)
      if (has_axis(element) && !(is_firm() && has_axis(made)))
        made = repeated_like(element, made, t_);
    return made;
  }

  Accumulator table() const {
    return facts_.helper(name_ + kind_, [&](const std::string &free) {
      std::vector<std::string> states, args;
      for (const auto &[name, value] : read_) args.push_back(name);
      for (const Entry &e : entries_) states.push_back(e.name);
      Accumulator made = accumulator(free, states, args);
      for (const Entry &e : entries_) {
        Number start;
        start.kind = Number::Kind::Float;
        start.real = e.from == e.into ? 1 : 0;
        made = made.init(e.name, make_literal(start, node_.where)).step(e.name, e.step);
      }
      for (const Entry &e : entries_) made = made.combine(e.name, joined(e));
      return made;
    });
  }

  // The blocks come from the end: this one is behind the other.
  Expr joined(const Entry &e) const {
    Expr sum;
    for (const std::string &through : live_) {
      const Entry *first = entry(e.from, through), *then = entry(through, e.into);
      if ((!first && !is_one(e.from, through)) || (!then && !is_one(through, e.into))) continue;
      const Expr other = then ? named(then->name + "_other") : Expr();
      Expr term = first ? named(first->name) : other;
      if (first && then) term = t_.mul(term, other);
      sum = t_.add(sum, term);
    }
    return sum;
  }

  // The cotangent of a state after each step.
  Expr after(const std::string &state) const {
    Expr sum;
    for (const std::string &from : live_) {
      if (!has_seed(from)) continue;
      const Expr &seed = seeds_.at(from);
      if (const Entry *e = entry(from, state)) {
        FoldUse use;
        use.accumulator = table();
        use.exclusive = true;
        use.reverse = true;
        use.state = e->name;
        std::vector<Expr> args;
        for (const auto &[name, value] : read_) args.push_back(value);
        sum = t_.add(sum, t_.mul(seed, make_scan(use, args, facts_.axis_ref(axis_), node_.where)));
      } else if (is_one(from, state)) {
        sum = t_.add(sum, seed);
      }
    }
    return sum;
  }

  void pull_elements() {
    Names seeds, values;
    for (const std::string &state : live_) {
      const Expr l = after(state);
      if (!l.node()) continue;
      seeds[state] = named(steps_.prefix + state);
      values[steps_.prefix + state] = l;
    }
    for (const std::string &state : steps_.states) values[state] = before(state);
    for (std::size_t k = 0; k < steps_.args.size(); ++k) values[steps_.args[k]] = elements_[k];
    const Names pulled = pull_clauses(facts_, steps_, steps_.step, seeds, t_);
    for (std::size_t k = 0; k < node_.folded; ++k) {
      const auto found = pulled.find(steps_.args[k]);
      if (found == pulled.end() || !found->second.node()) continue;
      const Expr value = whole(facts::substitute(found->second, values), node_.args[k]);
      sweep_.flow(node_.args[k], masked({value, {}}, {g_.value, g_.mask}, t_), t_);
    }
  }

  Sweep &sweep_;
  facts::Facts &facts_;
  const ExprNode &node_;
  facts::Terms t_;
  Cotangent g_;
  Steps steps_;
  Flows flows_;
  std::string name_;
  int axis_ = 0;
  std::vector<Expr> elements_; // in f64
  Names seeds_, before_;
  std::vector<std::string> live_;
  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, Expr>> read_; // states before the step and arguments
  std::string kind_ = "_table";                    // another one reads other arguments
};

} // namespace

bool is_associative(const ExprNode &fold) {
  return fold.kind != ExprKind::Scan && fold.use->accumulator.fold() == Fold::User &&
         fold.args.size() == fold.folded && !fold.use->accumulator.definition()->combine.empty();
}

bool pull_associative(Sweep &sweep, const Expr &fold, const Cotangent &g) {
  return Associative(sweep, fold, g).run();
}

} // namespace broadloom::grad
