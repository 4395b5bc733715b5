// The derivative of every elementwise operation: one case per row of ops.def.
#pragma once

#include "facts/terms.hpp"

#include <optional>
#include <vector>

namespace broadloom::grad {

// What flows back into a value. Where `mask` is given it is 0 outside of it, whatever the
// derivatives further down are: the branch was not taken.
struct Cotangent {
  Expr value; // empty: zero
  Expr mask;  // empty: everywhere
};

// y = op(args): the pull-back of the cotangent g into args[k]. A complex derivative comes
// conjugated (`is_complex` tells for each argument and, last, for y), so that d_x is dL/dRe + i
// dL/dIm.
// Nothing: the operation has no rule.
std::optional<Cotangent> pull(ops::Op op, const std::vector<Expr> &args, const Expr &y,
                              const Expr &g, std::size_t k, const std::vector<bool> &is_complex,
                              const facts::Terms &t);

// The same slopes the other way: what y moves by where args[k] moves by `moved`, and nothing else
// does. A complex value moves by its directional derivative. Outside of its mask the value may be
// anything.
std::optional<Cotangent> push(ops::Op op, const std::vector<Expr> &args, const Expr &y,
                              const Expr &moved, std::size_t k, const std::vector<bool> &is_complex,
                              const facts::Terms &t);

// What flows on from a node whose cotangent is g: outside of g's mask it is 0, even times inf.
Cotangent masked(const Cotangent &pulled, const Cotangent &g, const facts::Terms &t);

// The sum of two that flow into one node: a mask only where both have one.
Cotangent sum(const Cotangent &a, const Cotangent &b, const facts::Terms &t);

} // namespace broadloom::grad
