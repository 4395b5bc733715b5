// Inside the gradient stage: folds over several axes as folds over rows.
#pragma once

#include "facts/facts.hpp"

namespace broadloom::grad {

// A fold by an accumulator with a combine over several axes as folds of folds over one; empty:
// another.
Expr by_rows(facts::Facts &facts, const Expr &fold);

} // namespace broadloom::grad
