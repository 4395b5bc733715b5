// See known.hpp.
#include "scale/known.hpp"

#include <cmath>

namespace broadloom::scale {

namespace {

using ops::Op;

constexpr int signs[] = {-1, 0, 1};

bool may(const Known &k, int sign) {
  return sign < 0 ? k.negative : sign == 0 ? k.zero : k.positive;
}
void add(Known &k, int sign) { (sign < 0 ? k.negative : sign == 0 ? k.zero : k.positive) = true; }

Known none(bool finite) { return {false, false, false, finite}; }
Known positive(bool finite) { return {false, false, true, finite}; }

// What comes of each pair of signs: `rule` gives a sign, or 2 where it may be any.
template <class Rule> Known pairs(const Known &a, const Known &b, bool finite, Rule rule) {
  Known made = none(finite);
  for (const int x : signs)
    for (const int y : signs)
      if (may(a, x) && may(b, y)) {
        const int sign = rule(x, y);
        if (sign == 2) return {true, true, true, finite};
        add(made, sign);
      }
  return made;
}

Known sum(const Known &a, const Known &b) {
  return pairs(a, b, a.finite && b.finite, [](int x, int y) {
    return x == 0 ? y : y == 0 || x == y ? x : 2;
  });
}
Known negated(const Known &a) { return {a.positive, a.zero, a.negative, a.finite}; }
Known product(const Known &a, const Known &b, bool finite) {
  return pairs(a, b, finite, [](int x, int y) { return x * y; });
}
Known quotient(const Known &a, const Known &b) {
  if (!b.not_zero()) return {};
  return product(a, b, a.finite && b.finite);
}
Known larger(const Known &a, const Known &b) {
  return pairs(a, b, a.finite && b.finite, [](int x, int y) { return x > y ? x : y; });
}
Known magnitude(const Known &a) { return {false, a.zero, a.negative || a.positive, a.finite}; }
Known root(const Known &a) { return a.not_negative() ? a : Known{}; }

Known power(const Known &a, const ExprNode &exponent) {
  if (exponent.kind != ExprKind::Literal) return a.above_zero() ? a : Known{};
  const bool whole = exponent.number.kind == Number::Kind::Int && !exponent.number.too_large;
  if (!whole || exponent.number.integer <= 0) return a.above_zero() ? a : Known{};
  return exponent.number.integer % 2 == 0 ? magnitude(a) : a;
}

Known known_of_op(const ExprNode &node, std::span<const Known> args, bool square) {
  const Known &a = args[0];
  const Known zero = Known::of(0.0);
  switch (node.op) {
  case Op::Add: return sum(a, args[1]);
  case Op::Sub: return sum(a, negated(args[1]));
  case Op::Mul:
    if (square) return magnitude(a);
    return product(a, args[1], a.finite && args[1].finite);
  case Op::Div: return quotient(a, args[1]);
  case Op::Reciprocal: return quotient(Known::of(1.0), a);
  case Op::Fma: return sum(product(a, args[1], a.finite && args[1].finite), args[2]);
  case Op::Neg: return negated(a);
  case Op::Abs:
  case Op::Square: return magnitude(a);
  case Op::Sqrt: return root(a);
  case Op::Rsqrt: return a.above_zero() ? a : Known{};
  case Op::Pow: return power(a, *node.args[1].node());
  case Op::Maximum: return larger(a, args[1]);
  case Op::Minimum: return negated(larger(negated(a), negated(args[1])));
  case Op::Relu: return larger(a, zero);
  case Op::Clip: return negated(larger(negated(larger(a, args[1])), negated(args[2])));
  case Op::Where: return either(args[1], args[2]);
  case Op::Hypot: return larger(magnitude(a), magnitude(args[1]));
  case Op::Exp:
  case Op::Exp2:
  case Op::Sigmoid:
  case Op::Softplus:
  case Op::Cosh: return a.finite ? positive(true) : Known{};
  case Op::Sin:
  case Op::Cos: return {true, true, true, a.finite};
  case Op::Sign:
  case Op::Tanh:
  case Op::Sinh:
  case Op::Asinh:
  case Op::Atan:
  case Op::Expm1:
  case Op::Cbrt:
  case Op::Erf:
  case Op::Keep:
  case Op::Recompute: return a;
  default: return {};
  }
}

// An empty sum is 0, and the root of a sum of squares too.
Known known_of_fold(const ExprNode &node, std::span<const Known> args) {
  if (args.size() != 1 || !node.use->like.empty()) return {};
  Known a = args[0];
  switch (node.use->accumulator.fold()) {
  case Fold::Sum: return either(a, Known::of(0.0));
  case Fold::Norm: return either(magnitude(a), Known::of(0.0));
  case Fold::Prod: return a.above_zero() ? a : Known{true, true, true, a.finite};
  case Fold::Max:
  case Fold::Min: return a;
  case Fold::Any:
  case Fold::All:
  case Fold::Mean:
  case Fold::Var:
  case Fold::Std:
  case Fold::LogSumExp:
  case Fold::ArgMin:
  case Fold::ArgMax:
  case Fold::User: return {};
  }
  return {};
}

} // namespace

Known either(const Known &a, const Known &b) {
  return {a.negative || b.negative, a.zero || b.zero, a.positive || b.positive,
          a.finite && b.finite};
}

Known to_count(const Known &a) { return a.above_zero() ? a : Known{true, a.zero, true, a.finite}; }

Known known_of(const Number &number) {
  if (number.kind == Number::Kind::Imaginary) return Known{};
  return Known::of(number.kind == Number::Kind::Float ? number.real : double(number.integer));
}

Known Known::of(double number) {
  return {number < 0, number == 0, number > 0, std::isfinite(number)};
}

Known Known::of(Sign sign) {
  switch (sign) {
  case Sign::any: return {true, true, true, true};
  case Sign::positive: return {false, false, true, true};
  case Sign::nonnegative: return {false, true, true, true};
  case Sign::negative: return {true, false, false, true};
  case Sign::nonpositive: return {true, true, false, true};
  case Sign::nonzero: return {true, false, true, true};
  }
  return {};
}

Known known_of(const ExprNode &node, std::span<const Known> args, bool square) {
  switch (node.kind) {
  case ExprKind::Literal: return known_of(node.number);
  case ExprKind::Op: return known_of_op(node, args, square);
  case ExprKind::Cast: return is_float(node.dtype) ? args[0] : Known{};
  case ExprKind::Fold: return known_of_fold(node, args);
  case ExprKind::Input:
  case ExprKind::Scan:
  case ExprKind::Let:
  case ExprKind::Extent:
  case ExprKind::Iota:
  case ExprKind::Parameter:
  case ExprKind::Call:
  case ExprKind::Join: return {};
  }
  return {};
}

} // namespace broadloom::scale
