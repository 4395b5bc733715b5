// Rewrites of the typed graph that never change a bit.
//
//   -(-x) is x        x * 1 is x        where(c, x, x) is x        i32(i64(x)) of an i32 is x
//
// x + 0 is no such rewrite, since -0 + 0 is +0; x - 0 and x + -0 are. All NaNs count as equal.
#pragma once

#include "spec/spec.hpp"

namespace broadloom::rewrite {

// What is no longer read stays in the graph. Linear, iterative.
void simplify(spec::TypedSpec &spec);

} // namespace broadloom::rewrite
