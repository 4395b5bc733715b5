// The derivative of a running logsumexp, from its states: m, the greatest so far, and s, the sum of
// exp(x - m).
//
//   d_x[i] = sum of g[t] exp(x[i] - m[t]) / s[t] over all t >= i
//
// The sum runs from the end, scaled by the least m that it has met, which is the last one:
//
//   l[i] = g[i] / s[i] + exp(m[i] - m[i + 1]) l[i + 1]        d_x[i] = exp(x[i] - m[i]) l[i]
//
// No exponent is above 0, and no weight is found as the difference of others. Example: x = 1 1 1
// and g = 0 0 1 give
// m = 1 1 1, s = 1 2 3, l = 1/3 1/3 1/3.
#include "grad/recurrence.hpp"

#include <limits>

namespace broadloom::grad {
namespace {

using ops::Op;

constexpr double infinity = std::numeric_limits<double>::infinity();

// exp(a - b) for a <= b. Equal infinities are 0 apart.
Expr shrunk(const facts::Terms &t, const Expr &a, const Expr &b) {
  const Expr equal = t.both(t.op(Op::Eq, {a, b}), t.op(Op::IsInf, {a}));
  return t.where(equal, t.num(1), t.op(Op::Exp, {t.sub(a, b)}));
}

Accumulator backward(facts::Facts &facts, const facts::Terms &t) {
  return facts.helper("logsumexp_back", [&](const std::string &free) {
    const Expr l = named("l"), m = named("m"), q = named("q"), now = named("now");
    const Expr other = named("m_other"), least = t.op(Op::Minimum, {m, other});
    Number zero, top;
    zero.kind = top.kind = Number::Kind::Float;
    top.real = infinity;
    return accumulator(free, {"l", "m"}, {"q", "now"})
        .init("l", make_literal(zero, t.place()))
        .init("m", make_literal(top, t.place()))
        .step("l", t.add(t.mul(l, shrunk(t, now, m)), q))
        .step("m", now)
        .combine("l", t.add(t.mul(l, shrunk(t, least, m)),
                            t.mul(named("l_other"), shrunk(t, least, other))))
        .combine("m", least);
  });
}

} // namespace

void pull_running_logsumexp(Sweep &sweep, const Expr &scan, const Cotangent &g,
                            const ScanBack &back) {
  facts::Facts &facts = sweep.facts();
  const ExprNode &node = *scan.node();
  const facts::Terms t(node.where);
  const std::vector<Expr> init(node.args.begin() + std::ptrdiff_t(node.folded), node.args.end());
  const auto running = [&](const char *state) {
    FoldUse use = *node.use;
    use.state = state;
    use.init = init;
    return make_scan(use, {node.args[0]}, node.axes[0], node.where);
  };
  const Expr m = running("m"), s = running("s");
  // What has met no more than -inf is flat.
  Expr share = t.where(t.op(Op::Eq, {m, t.num(-infinity)}), t.num(0), t.div(g.value, s));
  if (g.mask.node()) share = t.where(g.mask, share);
  const auto from_end = [&](const char *state) {
    FoldUse use;
    use.accumulator = backward(facts, t);
    use.exclusive = node.use->exclusive;
    use.reverse = !node.use->reverse;
    use.state = state;
    return make_scan(use, {share, m}, node.axes[0], node.where);
  };
  const Expr x = make_cast(DType::F64, node.args[0], node.where);
  const Expr least = node.use->exclusive ? from_end("m") : m; // that l is scaled by
  const Expr value = t.mul(from_end("l"), shrunk(t, x, least));
  sweep.flow(node.args[0], masked({back.once(value), {}}, {g.value, back.mask}, t), t);
  if (init.empty()) return;
  const Expr into_count = t.mul(share, shrunk(t, init[0], m));
  sweep.flow(init[0], masked({t.mul(init[1], into_count), {}}, g, t), t);
  sweep.flow(init[1], masked({into_count, {}}, g, t), t);
}

} // namespace broadloom::grad
