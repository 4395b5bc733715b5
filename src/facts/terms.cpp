// See terms.hpp.
#include "facts/terms.hpp"

#include <cmath>

namespace broadloom::facts {

Expr Terms::num(double value) const {
  Number number;
  if (value == std::trunc(value) && std::fabs(value) < 1e9) {
    number.kind = Number::Kind::Int;
    number.integer = std::int64_t(std::fabs(value));
  } else {
    number.kind = Number::Kind::Float;
    number.real = std::fabs(value);
  }
  const Expr literal = make_literal(number, where_);
  return value < 0 ? neg(literal) : literal;
}

Expr Terms::add(const Expr &a, const Expr &b) const {
  if (!a.node()) return b;
  if (!b.node()) return a;
  return op(ops::Op::Add, {a, b});
}

} // namespace broadloom::facts
