// Inside the gradient stage: the parts of folds.cpp that have files of their own.
#pragma once

#include "grad/sweep.hpp"
#include "spec/definition.hpp"

namespace broadloom::grad {

// Does a fold over x fold this axis of x? like=w does where w is 1 and x has more, which may be
// known at a call only.
enum class Folds { Always, Never, AsCalled };
Folds folds(facts::Facts &facts, const Expr &x, const ExprNode &fold, int axis);

// Of a fold that has weights: what moves the k-th argument times its weights, of which the fold is
// moved by the sum along what it folds.
Expr weighted(facts::Facts &facts, const Expr &fold, std::size_t k, const Expr &moved);

// Of `min` and `max`: is an element the result, and how many of them are.
struct Winners {
  Expr wins, count;
};
Winners winners_of(facts::Facts &facts, const Expr &fold);

// For each element, the product of all the others that are folded with it.
Expr product_of_others(facts::Facts &facts, const Expr &x, const ExprNode &fold);

// A fold or a scan by its definition: forward states, then a sweep the other way.
void pull_recurrence(Sweep &sweep, const Expr &fold, const Cotangent &g);

// What `reduce` gives where there is nothing to fold: one step over x, as an expression.
Expr fold_of_one(const FoldUse &use, const Expr &x, const Place &where);

} // namespace broadloom::grad
