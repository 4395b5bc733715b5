// What folds and scans move by.
//
//   y = sum(x, j)      sum(t_x, j)
//   y = max(x, j)      the mean of t_x over the elements that are the greatest
//   y = norm(x, j)     sum(t_x * x / y, j): t_x times the weights by which cotangents flow back
//                      (folds.cpp)
//   y = damped(x, j)   by steps of pairs (dual.cpp)
#include "grad/folds.hpp"
#include "grad/tangents.hpp"

#include <algorithm>
#include <limits>

namespace broadloom::grad {
namespace {

using ops::Op;

// A fold of `value` as this one folds.
Expr alike(const ExprNode &node, Fold fold, const Expr &value) {
  FoldUse use;
  use.accumulator = Accumulator(fold);
  use.like = node.use->like;
  use.acc = node.use->acc;
  return make_fold(use, {value}, node.axes, node.where);
}

// Along an axis that the tangent lacks equal values meet.
Expr pushed_sum(const Tangents &tangents, const ExprNode &node, bool is_mean) {
  facts::Facts &facts = tangents.facts();
  const Expr &x = node.args[0];
  const Expr moved = tangents.long_enough(x);
  if (!moved.node()) return moved;
  const expr::AxisSet lacks = facts.axes(x) - facts.axes(moved);
  if (lacks.empty()) return alike(node, is_mean ? Fold::Mean : Fold::Sum, moved);
  if (!node.use->like.empty())
    return alike(node, is_mean ? Fold::Mean : Fold::Sum, tangents.whole(x));
  const facts::Terms t(node.where);
  expr::AxisSet folded;
  for (const AxisRef &ref : node.axes)
    folded = folded | expr::AxisSet::of(facts.space().axis(ref, node.where));
  if (node.axes.empty()) folded = facts.axes(x);
  const expr::AxisSet left = folded & facts.axes(moved);
  Expr made = moved;
  if (!left.empty()) {
    FoldUse use;
    use.accumulator = Accumulator(is_mean ? Fold::Mean : Fold::Sum);
    use.acc = node.use->acc;
    made = make_fold(use, {moved}, facts.axis_refs(left), node.where);
  }
  if (is_mean) return made;
  const DType type = facts.dtype(x);
  const bool wide = type == DType::F64 || type == DType::C128;
  for (const int axis : folded)
    if (lacks.has(axis))
      made = t.mul(made,
                   make_cast(wide ? DType::F64 : DType::F32, facts.extent(x, axis, t), node.where));
  return made;
}

Expr pushed_extreme(const Tangents &tangents, const Expr &fold) {
  const ExprNode &node = *fold.node();
  const facts::Terms t(node.where);
  const Winners winners = winners_of(tangents.facts(), fold);
  Expr total;
  if (const Expr moved = tangents.long_enough(node.args[0]); moved.node())
    total = alike(node, Fold::Sum, t.where(winners.wins, moved));
  if (node.folded < node.args.size()) {
    const Expr &init = node.args[node.folded];
    if (const Expr moved = tangents.at(init); moved.node())
      total = t.add(total, t.where(t.op(Op::Eq, {init, fold}), moved));
  }
  return total.node() ? t.div(total, winners.count) : total;
}

// In its own type where slopes are computed in a wider one.
Expr as_narrow(facts::Facts &facts, const Expr &fold, const Expr &moved) {
  const DType type = facts.dtype(fold);
  const bool narrow = type == DType::F32 || type == DType::C64;
  return narrow && moved.node() ? make_cast(type, moved, fold.node()->where) : moved;
}

Expr pushed_weighted(const Tangents &tangents, const Expr &fold) {
  facts::Facts &facts = tangents.facts();
  const ExprNode &node = *fold.node();
  const facts::Terms t(node.where);
  Expr total;
  for (std::size_t k = 0; k < node.args.size(); ++k) {
    const Expr moved =
        k < node.folded ? tangents.long_enough(node.args[k]) : tangents.at(node.args[k]);
    if (!moved.node()) continue;
    const Expr part = weighted(facts, fold, k, moved);
    if (part.node()) total = t.add(total, k < node.folded ? alike(node, Fold::Sum, part) : part);
  }
  return as_narrow(facts, fold, total);
}

// m, the greatest so far, s, the sum of exp(x - m), and w, that of t_x exp(x - m): y moves by w /
// s. All -inf: flat. Some +inf: they share.
Accumulator running_weights(facts::Facts &facts, const facts::Terms &t) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  return facts.helper("logsumexp_tangent", [&](const std::string &free) {
    const auto named = [](const char *name) { return make_parameter(name, {}); };
    const auto real = [&](double value) {
      Number number;
      number.kind = Number::Kind::Float;
      number.real = value;
      return make_literal(number, t.place());
    };
    // exp(a - b) for a <= b. Equal infinities are 0 apart.
    const auto shrunk = [&](const Expr &a, const Expr &b) {
      const Expr equal = t.both(t.op(Op::Eq, {a, b}), t.op(Op::IsInf, {a}));
      return t.where(equal, t.num(1), t.op(Op::Exp, {t.sub(a, b)}));
    };
    const Expr m = named("m"), s = named("s"), w = named("w"), x = named("x"), v = named("v");
    const Expr m_other = named("m_other"), top = t.op(Op::Maximum, {m, x});
    const Expr joined = t.op(Op::Maximum, {m, m_other});
    const Expr old = shrunk(m, top), now = shrunk(x, top);
    const Expr first = shrunk(m, joined), second = shrunk(m_other, joined);
    const auto weighted = [&](const Expr &a, const Expr &p, const Expr &b, const Expr &q) {
      const Expr left = t.mul(a, p);
      return t.add(left, b.node() ? t.mul(b, q) : q);
    };
    return accumulator(free, {"m", "s", "w"}, {"x", "v"})
        .init("m", real(-inf))
        .init("s", real(0))
        .init("w", real(0))
        .step("m", top)
        .step("s", weighted(s, old, {}, now))
        .step("w", weighted(w, old, v, now))
        .combine("m", joined)
        .combine("s", weighted(s, first, named("s_other"), second))
        .combine("w", weighted(w, first, named("w_other"), second))
        .result(t.where(t.op(Op::Eq, {m, real(-inf)}), t.num(0), t.div(w, s)));
  });
}

Expr pushed_logsumexp(const Tangents &tangents, const Expr &scan) {
  facts::Facts &facts = tangents.facts();
  const ExprNode &node = *scan.node();
  if (std::ranges::none_of(node.args, [&](const Expr &arg) { return tangents.at(arg).node(); }))
    return {};
  const facts::Terms t(node.where);
  const auto wide = [&](const Expr &x) {
    return make_cast(DType::F64, x.node() ? x : t.num(0), node.where);
  };
  FoldUse use;
  use.accumulator = running_weights(facts, t);
  use.exclusive = node.use->exclusive;
  use.reverse = node.use->reverse;
  if (node.args.size() > node.folded) { // m and s to start from
    const Expr first = wide(node.args[node.folded]), count = wide(node.args[node.folded + 1]);
    const Expr first_moves = tangents.at(node.args[node.folded]),
               count_moves = tangents.at(node.args[node.folded + 1]);
    Expr start = first_moves.node() ? t.mul(count, first_moves) : Expr();
    start = t.add(start, count_moves);
    use.init = {first, count, wide(start)};
  }
  const Expr x = wide(node.args[0]), moved = wide(tangents.at(node.args[0]));
  return as_narrow(facts, scan, make_scan(use, {x, moved}, node.axes[0], node.where));
}

// Before the first step there is no mean, and nothing that moves.
Expr pushed_mean(const Tangents &tangents, const Expr &scan) {
  facts::Facts &facts = tangents.facts();
  const ExprNode &node = *scan.node();
  const facts::Terms t(node.where);
  const Expr moved = tangents.whole(node.args[0]);
  if (!moved.node()) return moved;
  const Expr made = make_scan(*node.use, {moved}, node.axes[0], node.where);
  if (!node.use->exclusive) return made;
  const int axis = facts.space().axis(node.axes[0], node.where);
  const Expr at = facts.index(scan, axis, t);
  const Expr first = node.use->reverse ? t.sub(facts.extent(scan, axis, t), t.num(1)) : t.num(0);
  return t.where(t.op(Op::Eq, {at, first}), t.num(0), made);
}

} // namespace

Expr push_fold(const Tangents &tangents, const Expr &fold) {
  const ExprNode &node = *fold.node();
  const facts::Terms t(node.where);
  switch (node.use->accumulator.fold()) {
  case Fold::Sum: {
    const Expr moved = pushed_sum(tangents, node, false);
    return node.folded < node.args.size() ? t.add(moved, tangents.at(node.args[node.folded]))
                                          : moved;
  }
  case Fold::Mean: return pushed_sum(tangents, node, true);
  case Fold::Min:
  case Fold::Max: return pushed_extreme(tangents, fold);
  case Fold::User: return push_recurrence(tangents, fold);
  case Fold::Prod:
  case Fold::Var:
  case Fold::Std:
  case Fold::Norm:
  case Fold::LogSumExp:
  case Fold::Any:
  case Fold::All:
  case Fold::ArgMin:
  case Fold::ArgMax: return pushed_weighted(tangents, fold);
  }
  return {};
}

Expr push_scan(const Tangents &tangents, const Expr &scan) {
  const ExprNode &node = *scan.node();
  const bool has_state = !node.use->state.empty();
  switch (node.use->accumulator.fold()) {
  case Fold::Sum: {
    FoldUse use = *node.use;
    use.init.clear();
    const Expr start =
        node.folded < node.args.size() ? tangents.at(node.args[node.folded]) : Expr();
    const Expr moved = tangents.whole(node.args[0]);
    if (!moved.node()) return start;
    if (start.node()) use.init = {start};
    return make_scan(use, {moved}, node.axes[0], node.where);
  }
  case Fold::Mean: return pushed_mean(tangents, scan);
  case Fold::LogSumExp:
    return has_state ? push_recurrence(tangents, scan) : pushed_logsumexp(tangents, scan);
  case Fold::Prod:
  case Fold::Min:
  case Fold::Max:
  case Fold::Var:
  case Fold::Std:
  case Fold::Norm:
  case Fold::Any:
  case Fold::All:
  case Fold::ArgMin:
  case Fold::ArgMax:
  case Fold::User: return push_recurrence(tangents, scan);
  }
  return {};
}

} // namespace broadloom::grad
