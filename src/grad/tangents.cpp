// See tangents.hpp.
#include "grad/tangents.hpp"

#include "grad/order.hpp"
#include "grad/shape.hpp"
#include "grad/sweep.hpp"

#include "support/fail.hpp"

#include <algorithm>

namespace broadloom::grad {

using ops::Op;
using support::fail;

namespace {

Expr both(const Expr &a, const Expr &b, const facts::Terms &t) {
  if (!a.node() || a.node() == b.node()) return b;
  return b.node() ? t.both(a, b) : a;
}

// Some rules put zeros outside of their masks, which can wait.
Tangent unsettled(const Tangent &tangent) {
  const ExprNode &node = *tangent.value.node();
  const bool is_masked = tangent.mask.node() && node.kind == ExprKind::Op && node.op == Op::Where &&
                         node.args[0].node() == tangent.mask.node();
  return is_masked ? Tangent{node.args[1], tangent.mask} : tangent;
}

// Is the slope 0 whatever the arguments are?
bool is_flat(facts::Facts &facts, const ExprNode &node, const Expr &self, std::size_t k,
             const std::vector<bool> &complex) {
  if (node.op == Op::Where) return k == 0;
  const facts::Terms t(node.where);
  const auto pushed = push(node.op, node.args, self, t.num(1), k, complex, t);
  if (!pushed)
    fail_no_rule(facts, "'" + std::string(ops::info(node.op).spelling) + "'", node.where);
  return !pushed->value.node();
}

// c ? a : b, what a and b move by; one may be empty.
Tangent chosen(const Expr &c, const Tangent &a, const Tangent &b, const facts::Terms &t) {
  if (!b.value.node()) return {a.value, both(c, a.mask, t)};
  if (!a.value.node()) return {b.value, both(t.op(Op::Not, {c}), b.mask, t)};
  const Tangent made{t.where(c, a.value, b.value), {}};
  if (!a.mask.node() && !b.mask.node()) return made;
  const Expr first = both(c, a.mask, t), second = both(t.op(Op::Not, {c}), b.mask, t);
  return {made.value, t.either(first, second)};
}

// `moved(k)`: what argument k moves by, which it does where that has a value.
template <class Moved>
Tangent push_op(const ExprNode &node, const Expr &self, const std::vector<bool> &complex,
                Moved moved) {
  const facts::Terms t(node.where);
  if (node.op == Op::Where) return chosen(node.args[0], moved(1), moved(2), t);
  Tangent total;
  for (std::size_t k = 0; k < node.args.size(); ++k) {
    const Tangent in = moved(k);
    if (!in.value.node()) continue;
    const auto pushed = push(node.op, node.args, self, in.value, k, complex, t);
    if (!pushed || !pushed->value.node()) continue;
    Tangent one = unsettled(*pushed);
    one.mask = both(in.mask, one.mask, t);
    total = sum_of(total, one, t);
  }
  return total;
}

void fail_clause(facts::Facts &facts, const FunctionDecl &function,
                 const FunctionDecl::Derivative &clause, const std::string &why) {
  fail("E0601",
       "the derivative of '" + function.name + "' by '" +
           function.params[clause.param].node()->name + "' " + why +
           ", and so it says only what flows back",
       facts.space().shown(clause.where),
       "take the gradient, leave the input out of wrt, or leave the clause out");
}

} // namespace

Expr settled(const Tangent &tangent, const facts::Terms &t) {
  return tangent.mask.node() ? t.where(tangent.mask, tangent.value) : tangent.value;
}

Tangent sum_of(const Tangent &a, const Tangent &b, const facts::Terms &t) {
  if (!a.value.node()) return b;
  if (!b.value.node()) return a;
  const auto added = [&](const Expr &x, const Expr &y) {
    const ExprNode &second = *y.node();
    const bool is_minus = second.kind == ExprKind::Op && second.op == Op::Neg;
    return is_minus ? t.sub(x, second.args[0]) : t.add(x, y);
  };
  if (a.mask.node() == b.mask.node()) return {added(a.value, b.value), a.mask};
  const bool masked = a.mask.node() && b.mask.node();
  const Expr first = settled(a, t), second = settled(b, t);
  return {added(first, second), masked ? t.either(a.mask, b.mask) : Expr()};
}

Expr Tangents::at(const Expr &expr) const {
  const auto found = tangents_.find(expr.node());
  if (found == tangents_.end() || !found->second.value.node()) return {};
  Expr &made = settled_[expr.node()];
  if (!made.node()) made = settled(found->second, facts::Terms(expr.node()->where));
  return made;
}

Expr Tangents::repeated(const Expr &expr, const Expr &tangent, bool along_all) const {
  if (!tangent.node()) return tangent;
  const expr::AxisSet has = facts_.axes(tangent);
  for (const int axis : facts_.axes(expr)) {
    const bool firm = facts_.is_firm(expr::AxisSet::of(axis));
    bool is_short = !has.has(axis) && (along_all || !firm);
    if (has.has(axis) && !firm) {
      const std::vector<std::string> lent = facts_.lenders(tangent, axis);
      for (const std::string &name : facts_.lenders(expr, axis))
        is_short = is_short || std::find(lent.begin(), lent.end(), name) == lent.end();
    }
    if (is_short)
      return repeated_in(facts_, expr, {tangent, {}}, facts::Terms(expr.node()->where)).value;
  }
  return tangent;
}

std::vector<bool> Tangents::complex_of(const Expr &self) const {
  std::vector<bool> complex;
  for (const Expr &arg : self.node()->args) complex.push_back(facts_.is_complex(arg));
  complex.push_back(facts_.is_complex(self));
  return complex;
}

void Tangents::run(const std::vector<Expr> &roots) {
  const auto parts = [&](const Expr &self) { return moving_parts(self); };
  for (const Expr &self : in_order(roots, parts))
    if (!tangents_.contains(self.node())) tangents_.emplace(self.node(), moved(self));
}

// The arguments that it moves with. Where one of them is an integer that was made of a float, a
// derivative of 0 would be a lie.
std::vector<Expr> Tangents::moving_parts(const Expr &self) {
  std::vector<Expr> parts;
  const ExprNode &node = *self.node();
  if (!facts_.depends(self) || tangents_.contains(&node)) return parts;
  const auto add = [&](const Expr &arg) {
    if (!facts_.depends(arg)) return;
    if (facts_.is_continuous(arg))
      parts.push_back(arg);
    else
      check_integer(facts_, arg);
  };
  switch (node.kind) {
  case ExprKind::Input:
  case ExprKind::Literal:
  case ExprKind::Extent:
  case ExprKind::Iota:
  case ExprKind::Join:
  case ExprKind::Parameter: break;
  case ExprKind::Let:
  case ExprKind::Cast: add(node.args[0]); break;
  case ExprKind::Fold:
  case ExprKind::Scan:
    for (std::size_t k = 0; k < node.args.size(); ++k)
      if (facts_.depends(node.args[k]) &&
          (facts_.is_continuous(node.args[k]) || moves_result(facts_, self, k)))
        add(node.args[k]);
    break;
  case ExprKind::Op:
    for (std::size_t k = 0; k < node.args.size(); ++k)
      if (facts_.depends(node.args[k]) && !is_flat(facts_, node, self, k, complex_of(self)))
        add(node.args[k]);
    break;
  case ExprKind::Call:
    for (std::size_t k = 0; k < node.args.size(); ++k) {
      const FunctionDecl::Derivative *clause = facts::Calls::clause(*node.function, k);
      if (clause && !facts::Calls::is_zero(*clause)) add(node.args[k]);
    }
    if (const Expr body = facts_.by_body(self); body.node()) add(body);
    break;
  }
  return parts;
}

Tangent Tangents::moved(const Expr &self) {
  const ExprNode &node = *self.node();
  if (!facts_.depends(self)) return {};
  const auto of = [&](const Expr &arg) {
    const auto found = tangents_.find(arg.node());
    return found == tangents_.end() ? Tangent() : found->second;
  };
  switch (node.kind) {
  case ExprKind::Literal:
  case ExprKind::Extent:
  case ExprKind::Iota:
  case ExprKind::Join:
  case ExprKind::Parameter: return {};
  case ExprKind::Input: return {read_(node), {}};
  case ExprKind::Let: return of(node.args[0]);
  case ExprKind::Cast: {
    Tangent tangent = of(node.args[0]);
    if (tangent.value.node()) tangent.value = make_cast(node.dtype, tangent.value, node.where);
    return tangent;
  }
  case ExprKind::Op:
    return push_op(node, self, complex_of(self), [&](std::size_t k) { return of(node.args[k]); });
  case ExprKind::Call: return moved_call(self);
  case ExprKind::Fold: return {push_fold(*this, self), {}};
  case ExprKind::Scan: return {push_scan(*this, self), {}};
  }
  return {};
}

// A clause says what flows back; where it multiplies each element by a real number, so does what
// goes forward.
Tangent Tangents::moved_call(const Expr &self) {
  const ExprNode &node = *self.node();
  const facts::Terms t(node.where);
  const std::vector<bool> complex = complex_of(self);
  const bool real = std::find(complex.begin(), complex.end(), true) == complex.end();
  Tangent total;
  for (std::size_t k = 0; k < node.args.size(); ++k) {
    const FunctionDecl::Derivative *clause = facts::Calls::clause(*node.function, k);
    const auto found = tangents_.find(node.args[k].node());
    if (!clause || facts::Calls::is_zero(*clause) || found == tangents_.end()) continue;
    const Tangent &in = found->second;
    if (!in.value.node()) continue;
    if (!facts_.calls().is_elementwise(clause->value))
      fail_clause(facts_, *node.function, *clause, "mixes elements");
    if (!real) fail_clause(facts_, *node.function, *clause, "is one of complex numbers");
    const Tangent one{facts_.calls().by_clause(node, *clause, in.value), in.mask};
    total = sum_of(total, one, t);
  }
  if (const Expr body = facts_.by_body(self); body.node())
    if (const auto found = tangents_.find(body.node()); found != tangents_.end())
      total = sum_of(total, found->second, t);
  return total;
}

Expr push_defined(facts::Facts &facts, const Expr &root,
                  const std::unordered_map<std::string, Expr> &moved) {
  facts::Calls &calls = facts.calls();
  const auto real = [](const ExprNode &node) { return std::vector(node.args.size() + 1, false); };
  const auto parts = [&](const Expr &self) {
    const ExprNode &node = *self.node();
    std::vector<Expr> found;
    if (calls.is_constant(&node)) return found;
    for (std::size_t k = 0; k < node.args.size(); ++k)
      if (node.kind != ExprKind::Op || !is_flat(facts, node, self, k, real(node)))
        found.push_back(node.args[k]);
    if (node.kind == ExprKind::Call) found.push_back(calls.by_body(self));
    return found;
  };
  std::unordered_map<const ExprNode *, Tangent> tangents;
  const auto of = [&](const Expr &arg) {
    const auto found = tangents.find(arg.node());
    return found == tangents.end() ? Tangent() : found->second;
  };
  for (const Expr &self : in_order({root}, parts)) {
    const ExprNode &node = *self.node();
    const facts::Terms t(node.where);
    Tangent &made = tangents[&node];
    if (calls.is_constant(&node)) continue;
    if (node.kind == ExprKind::Parameter) {
      const auto found = moved.find(node.name);
      if (found != moved.end()) made.value = found->second;
    }
    if (node.kind == ExprKind::Let) made = of(node.args[0]);
    if (node.kind == ExprKind::Cast && of(node.args[0]).value.node()) {
      if (!is_float(node.dtype))
        fail("E0602", "an accumulator casts to " + std::string(name(node.dtype)) + " what moves",
             facts.space().shown(node.where),
             "an integer has no derivative: keep the value a float, as floor() does");
      made = of(node.args[0]);
      made.value = make_cast(node.dtype, made.value, node.where);
    }
    if (node.kind == ExprKind::Op)
      made = push_op(node, self, real(node), [&](std::size_t k) { return of(node.args[k]); });
    if (node.kind != ExprKind::Call) continue;
    for (std::size_t k = 0; k < node.args.size(); ++k) {
      const FunctionDecl::Derivative *clause = facts::Calls::clause(*node.function, k);
      const Tangent in = of(node.args[k]);
      if (!clause || facts::Calls::is_zero(*clause) || !in.value.node()) continue;
      check_elementwise(facts, *node.function, *clause);
      made = sum_of(made, {calls.by_clause(node, *clause, in.value), in.mask}, t);
    }
    if (const Expr body = calls.by_body(self); body.node()) made = sum_of(made, of(body), t);
  }
  const Tangent result = of(root);
  if (!result.value.node()) return {};
  return calls.restored(settled(result, facts::Terms(root.node()->where)));
}

} // namespace broadloom::grad
