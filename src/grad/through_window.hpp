// Inside the gradient stage: a value with the axes of an input, read as a window reads the input.
//
//   s = sum(e, like=x[2*i + u])      g of s is over the axis p of x:      g = d_s * w[p]
//       e gets d_s[2*i + u] * w[2*i + u]
//
// Through a padded window what is read is padded alike, and 0 where the window reads a number: for
// certain, whatever slopes it meets.
#pragma once

#include "facts/facts.hpp"
#include "grad/rules.hpp"

namespace broadloom::grad {

// `window` is the declaration of a window. Throws SpecError E0601 where the value has parts that
// cannot be computed elsewhere. Iterative.
Cotangent through_window(facts::Facts &facts, const Cotangent &g, const InputDecl &window,
                         const facts::Terms &t);

} // namespace broadloom::grad
