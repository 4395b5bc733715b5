// Inside the gradient stage: an output as one expression.
//
//   accumulate(sum) x * y   ->  sum(x, j) * y        reduce(sum) e  ->  sum(e, j)
#pragma once

#include "facts/facts.hpp"

namespace broadloom::grad {

// Output k, its mode written out and each extent and index bound to its inputs (Facts::bound). The
// facts know it.
Expr whole_output(facts::Facts &facts, const spec::TypedSpec &typed, OutputDecl output,
                  std::size_t k);

} // namespace broadloom::grad
