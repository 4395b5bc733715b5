// The derivatives of folds: what flows back into the elements that were folded.
//
//   y = sum(x, j)      every element gets g
//   y = max(x, j)      those that are the greatest share g evenly
//   y = prod(x, j)     g times the product of all the others (products.cpp)
//   y = damped(x, j)   by a sweep the other way (recurrence.cpp)
#include "grad/folds.hpp"

#include "grad/shape.hpp"
#include "grad/through_window.hpp"

#include "support/fail.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace broadloom::grad {

using ops::Op;

Folds folds(facts::Facts &facts, const Expr &x, const ExprNode &fold, int axis) {
  const auto is_axis = [&](const AxisRef &ref) {
    return facts.space().axis(ref, fold.where) == axis;
  };
  if (fold.use->like.empty()) {
    const bool is_listed = std::any_of(fold.axes.begin(), fold.axes.end(), is_axis);
    return fold.axes.empty() || is_listed ? Folds::Always : Folds::Never;
  }
  // Along the axis: is each of them 1, may it be, and are they all that x has its extent from?
  bool are_one = true, may_be_one = true;
  std::vector<std::string> lenders = facts.lenders(x, axis);
  const bool lends = !lenders.empty();
  for (const std::uint32_t i : facts.space().inputs_called(fold.use->like, fold.where)) {
    const spec::TypedInput &like = facts.spec().inputs[i];
    for (std::size_t d = 0; d < like.axis_of_dim.size(); ++d) {
      if (like.axis_of_dim[d] != axis) continue;
      are_one = are_one && like.extents[d] == 1;
      may_be_one = may_be_one && (like.extents[d] == 1 || like.may_stretch[d]);
      std::erase(lenders, like.name);
    }
  }
  if (are_one) return Folds::Always;
  return may_be_one && !(lends && lenders.empty()) ? Folds::AsCalled : Folds::Never;
}

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

class FoldRule {
public:
  // What flows into the k-th argument of the fold.
  using Flow = std::function<void(std::size_t k, const Cotangent &)>;

  FoldRule(facts::Facts &facts, const Expr &fold, const Cotangent &g, Flow flow)
      : facts_(facts), self_(fold), node_(*fold.node()), t_(node_.where), g_(g), x_(node_.args[0]),
        into_init_(g.value), into_mask_(g.mask), flow_(std::move(flow)) {}

  void pull(Sweep &sweep);
  // What flows, g being there for each element already.
  void flow_into_all();
  // Of `max`: each element that is the result, and how many they are, init= counted.
  Expr wins() const;
  Expr winners(const Expr &wins) const;

private:
  // A fold of `value` over the same axes as this one.
  Expr alike(Fold fold, const Expr &value, std::vector<Expr> init = {}) const {
    FoldUse use;
    use.accumulator = Accumulator(fold);
    use.like = node_.use->like;
    use.init = std::move(init);
    return make_fold(use, {value}, node_.axes, node_.where);
  }
  // In f64 where it is f32: what is centred must not lose digits first.
  Expr wide(const Expr &x) const {
    const DType type = facts_.dtype(x);
    return type == DType::F64 || is_complex(type) ? x : make_cast(DType::F64, x, node_.where);
  }
  // In a type that a sum of as many ones as there are elements fits in.
  Expr in_range(const Expr &x) const {
    const DType type = facts_.dtype(x);
    if (type == DType::F32 || type == DType::F64) return x;
    return make_cast(is_float(type) ? DType::F32 : DType::F64, x, node_.where);
  }
  Expr conj(const Expr &x) const { return facts_.is_complex(x_) ? t_.op(Op::Conj, {x}) : x; }
  expr::AxisSet like_ones() const;
  bool may_repeat() const;
  Cotangent repeated_in_both() const;
  Expr count() const;
  Expr freedom() const; // count - correction, at least 0
  Expr is_zero(const Expr &x) const { return t_.op(Op::Eq, {x, t_.num(0)}); }
  void give(const Expr &value, const Expr &mask = {}) const {
    flow_(0, masked({value, mask}, g_, t_));
  }
  bool has_init() const { return node_.args.size() > node_.folded; }
  void into_init(std::size_t k, const Expr &value) const {
    if (has_init()) flow_(node_.folded + k, masked({value, {}}, {into_init_, into_mask_}, t_));
  }
  void to_shape_of_like();
  void through(const InputDecl &window);
  void extreme() const;
  void log_sum_exp() const;
  Expr centred() const;
  void spread() const; // var, std

  facts::Facts &facts_;
  const Expr &self_;
  const ExprNode &node_;
  facts::Terms t_;
  Cotangent g_;
  const Expr &x_;
  Expr into_init_, into_mask_; // the cotangent of the result itself
  Flow flow_;
};

// The axes of like= along which the result may be 1 and the argument not.
expr::AxisSet FoldRule::like_ones() const {
  expr::AxisSet ones;
  if (node_.use->like.empty()) return ones;
  for (const int axis : facts_.axes(x_))
    if (facts_.axes(self_).has(axis) && folds(facts_, x_, node_, axis) != Folds::Never)
      ones = ones | expr::AxisSet::of(axis);
  return ones;
}

// May like= have more elements than the argument along an axis of both? The result is repeated
// there.
bool FoldRule::may_repeat() const {
  for (const std::uint32_t i : facts_.space().inputs_called(node_.use->like, node_.where)) {
    const spec::TypedInput &like = facts_.spec().inputs[i];
    for (std::size_t d = 0; d < like.axis_of_dim.size(); ++d) {
      const int axis = like.axis_of_dim[d];
      if (!facts_.axes(x_).has(axis) || like.extents[d] == 1 ||
          facts_.is_firm(expr::AxisSet::of(axis)))
        continue;
      const InputNames lenders = facts_.lenders(x_, axis);
      if (!has_label(facts_, lenders, axis) && std::ranges::count(lenders, like.name) == 0)
        return true;
    }
  }
  return false;
}

// The cotangent with the extents that the argument and like= have together.
Cotangent FoldRule::repeated_in_both() const {
  std::optional<InputNames> shape = shape_of(facts_, x_);
  const bool fits = facts_.axes(x_).contains(facts_.axes(self_)) &&
                    facts_.axes(x_).contains(facts_.axes(g_.mask));
  if (!shape || !fits) return {repeated_like(x_, g_.value, t_), g_.mask};
  for (const std::string &name : node_.use->like)
    if (std::ranges::count(*shape, name) == 0) shape->push_back(name);
  return in_shape(*shape, g_, t_);
}

// How many elements meet in one result. An extent is that of the input that gives it: all that have
// the axis agree or are 1.
Expr FoldRule::count() const {
  const FoldUse &use = *node_.use;
  expr::AxisSet folded = facts_.axes(x_);
  if (use.like.empty() && !node_.axes.empty()) folded = folded - facts_.axes(self_);
  Expr product;
  for (const int axis : folded) {
    Expr one = facts_.extent(x_, axis, t_);
    if (!use.like.empty()) {
      std::vector<std::string> of;
      for (const std::uint32_t i : facts_.space().inputs_called(use.like, node_.where))
        if (facts_.spec().inputs[i].axes().has(axis)) of.push_back(facts_.spec().inputs[i].name);
      if (!of.empty()) {
        const Expr extent = make_extent(facts_.axis_ref(axis), of, node_.where);
        one = t_.where(t_.op(Op::Eq, {extent, t_.num(1)}), one, t_.num(1));
      }
    }
    product = product.node() ? t_.mul(product, one) : one;
  }
  return product.node() ? product : t_.num(1);
}

Expr FoldRule::freedom() const {
  const double correction = node_.use->correction.value_or(0);
  const Expr n = make_cast(DType::F64, count(), node_.where);
  if (correction == 0) return n;
  return t_.op(Op::Maximum, {t_.sub(n, t_.num(correction)), t_.num(0)});
}

Expr FoldRule::wins() const {
  const Expr nan = t_.both(t_.op(Op::IsNan, {self_}), t_.op(Op::IsNan, {x_}));
  return t_.either(t_.op(Op::Eq, {x_, self_}), nan);
}

Expr FoldRule::winners(const Expr &wins) const {
  const Expr winners = alike(Fold::Sum, wins);
  if (!has_init()) return winners;
  const Expr init_wins = t_.op(Op::Eq, {node_.args[node_.folded], self_}); // one more element
  return t_.add(winners, make_cast(DType::I64, init_wins, node_.where));
}

// Those that equal the result share g; where the result is NaN, the NaNs do.
void FoldRule::extreme() const {
  const Expr wins = this->wins(), winners = this->winners(wins);
  if (has_init()) {
    const Expr init_wins = t_.op(Op::Eq, {node_.args[node_.folded], self_});
    into_init(0, t_.where(init_wins, t_.div(into_init_, winners)));
  }
  give(t_.where(wins, t_.div(g_.value, winners)), wins);
}

// The weights are those of softmax, with the greatest element taken off: exp(x - y) would have the
// rounding of y in every weight, which is 1e-3 of them where an f32 y is 1e4. All -inf: zeros. Some
// +inf: they share.
void FoldRule::log_sum_exp() const {
  const Expr x = in_range(x_);
  Expr top = alike(Fold::Max, x, {t_.num(-inf)}); // that of nothing is no error
  if (has_init()) top = t_.op(Op::Maximum, {top, node_.args[node_.folded]});
  const auto scaled = [&](const Expr &value) {
    const Expr power = t_.op(Op::Exp, {t_.sub(value, top)});
    return t_.where(t_.op(Op::Eq, {value, t_.num(inf)}), t_.num(1), power);
  };
  const Expr empty = t_.op(Op::Eq, {top, t_.num(-inf)}), power = scaled(x);
  Expr total = alike(Fold::Sum, power);
  if (has_init()) {
    const Expr &first = node_.args[node_.folded], &count = node_.args[node_.folded + 1];
    const Expr start = scaled(first);
    total = t_.add(total, t_.mul(count, start));
    const Expr slope = t_.mul(into_init_, t_.where(empty, t_.num(0), t_.div(start, total)));
    into_init(0, t_.mul(count, slope));
    into_init(1, slope);
  }
  give(t_.mul(g_.value, t_.where(empty, t_.num(0), t_.div(power, total))));
}

// Of f64 data far from 0 the rounding of the mean is no small part of what is centred: 1e8 + noise
// would keep 8 digits. The mean of the centred values is that rounding.
Expr FoldRule::centred() const {
  const Expr x = wide(x_);
  const Expr rough = t_.sub(x, alike(Fold::Mean, x));
  const bool exact = facts_.dtype(x_) == DType::F32 || facts_.dtype(x_) == DType::C64;
  return exact ? rough : t_.sub(rough, alike(Fold::Mean, rough));
}

void FoldRule::spread() const {
  const bool root = node_.use->accumulator.fold() == Fold::Std;
  const Expr centred = this->centred();
  if (!root) return give(t_.mul(g_.value, t_.div(t_.mul(2, centred), freedom())));
  const Expr slope = t_.div(centred, t_.mul(freedom(), self_));
  give(t_.mul(g_.value, t_.where(is_zero(self_), t_.num(0), slope)));
}

// What the result was repeated along comes together first: else it would meet the elements one by
// one.
void FoldRule::to_shape_of_like() {
  FoldUse use;
  use.like = node_.use->like;
  g_.value = make_fold(use, {g_.value}, {}, node_.where);
  use.accumulator = Accumulator(Fold::Any);
  if (g_.mask.node()) g_.mask = make_fold(use, {g_.mask}, {}, node_.where);
}

// Each element gets what came to the position that it was added to.
void FoldRule::through(const InputDecl &window) {
  g_ = through_window(facts_, g_, window, t_);
  if (!facts_.is_firm(facts_.axes(x_) - facts_.axes(g_.value)))
    g_ = repeated_in(facts_, x_, g_, t_);
  give(g_.value);
}

void FoldRule::pull(Sweep &sweep) {
  if (const InputDecl *window = facts_.window_called(node_.use->like)) return through(*window);
  const expr::AxisSet ones = like_ones();
  if (!ones.empty()) to_shape_of_like();
  into_init_ = g_.value;
  into_mask_ = g_.mask;
  // Every element that was folded gets the cotangent of the result. Where extents differ at a call,
  // those of what is folded must show in it. A slope of result and argument has the extents of
  // both, so where the result was repeated the cotangent keeps those.
  const Fold fold = node_.use->accumulator.fold();
  const bool has_slope = fold != Fold::Sum && fold != Fold::Mean && fold != Fold::User;
  if (has_slope && may_repeat())
    g_ = repeated_in_both();
  else if (!ones.empty() || !facts_.is_firm(facts_.axes(x_) - facts_.axes(g_.value)))
    g_ = repeated_in(facts_, x_, g_, t_);
  if (fold == Fold::User) return pull_recurrence(sweep, self_, {into_init_, into_mask_});
  flow_into_all();
}

void FoldRule::flow_into_all() {
  const Fold fold = node_.use->accumulator.fold();
  switch (fold) {
  case Fold::Sum: into_init(0, into_init_); return give(g_.value);
  case Fold::Mean: return give(t_.div(g_.value, count()));
  case Fold::Min:
  case Fold::Max: return extreme();
  case Fold::Norm: {
    const Expr direction = t_.where(is_zero(self_), t_.num(0), t_.div(x_, self_));
    return give(t_.mul(g_.value, direction));
  }
  case Fold::LogSumExp: return log_sum_exp();
  case Fold::Var:
  case Fold::Std:
    if (has_init()) break;
    return spread();
  case Fold::Prod:
    into_init(0, t_.mul(into_init_, conj(alike(Fold::Prod, x_))));
    return give(t_.mul(has_init() ? t_.mul(g_.value, conj(node_.args[node_.folded])) : g_.value,
                       conj(product_of_others(facts_, x_, node_))));
  case Fold::Any:
  case Fold::All: return; // bool: nothing flows
  case Fold::User:        // by its steps
  case Fold::ArgMin:
  case Fold::ArgMax: break;
  }
  support::fail("E0601",
                "this form of '" + std::string(spec::name_of(node_.use->accumulator)) +
                    "' has no derivative",
                facts_.space().shown(node_.where),
                has_init() ? "leave init= out" : "take the gradient of other outputs");
}

} // namespace

void pull_fold(Sweep &sweep, const Expr &fold, const Cotangent &g) {
  const ExprNode &node = *fold.node();
  FoldRule(sweep.facts(), fold, g, [&](std::size_t k, const Cotangent &flowed) {
    sweep.flow(node.args[k], flowed, facts::Terms(node.where));
  }).pull(sweep);
}

// A complex slope flows back conjugated.
Expr weighted(facts::Facts &facts, const Expr &fold, std::size_t k, const Expr &moved) {
  const facts::Terms t(fold.node()->where);
  const bool complex = facts.is_complex(fold.node()->args[k]);
  const Expr given = complex ? t.op(Op::Conj, {moved}) : moved;
  Expr result;
  FoldRule(facts, fold, {given, {}}, [&](std::size_t into, const Cotangent &flowed) {
    if (into == k) result = flowed.value;
  }).flow_into_all();
  if (!complex || !result.node()) return result;
  return t.op(facts.is_complex(fold) ? Op::Conj : Op::Real, {result});
}

Winners winners_of(facts::Facts &facts, const Expr &fold) {
  const FoldRule rule(facts, fold, {}, {});
  const Expr wins = rule.wins();
  return {wins, rule.winners(wins)};
}

} // namespace broadloom::grad
