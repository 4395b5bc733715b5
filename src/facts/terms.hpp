// For gradients and scales: making expressions at the place of the one that is differentiated.
//
// An empty Expr stands for zero, so that what does not matter never comes into being.
#pragma once

#include "expr/node.hpp"

#include <initializer_list>

namespace broadloom::facts {

class Terms {
public:
  explicit Terms(Place where) : where_(std::move(where)) {}

  Expr num(double value) const;
  Expr op(ops::Op op, std::initializer_list<Expr> args) const { return make_op(op, args, where_); }
  Expr add(const Expr &a, const Expr &b) const; // either may be empty
  Expr sub(const Expr &a, const Expr &b) const { return op(ops::Op::Sub, {a, b}); }
  Expr mul(const Expr &a, const Expr &b) const { return op(ops::Op::Mul, {a, b}); }
  Expr mul(double a, const Expr &b) const { return mul(num(a), b); }
  Expr div(const Expr &a, const Expr &b) const { return op(ops::Op::Div, {a, b}); }
  Expr neg(const Expr &a) const { return op(ops::Op::Neg, {a}); }
  Expr where(const Expr &c, const Expr &a, const Expr &b) const {
    return op(ops::Op::Where, {c, a, b});
  }
  Expr where(const Expr &c, const Expr &a) const { return where(c, a, num(0)); }
  Expr either(const Expr &a, const Expr &b) const { return op(ops::Op::Or, {a, b}); }
  Expr both(const Expr &a, const Expr &b) const { return op(ops::Op::And, {a, b}); }
  Expr square(const Expr &a) const { return op(ops::Op::Square, {a}); }
  const Place &place() const { return where_; }

private:
  Place where_;
};

} // namespace broadloom::facts
