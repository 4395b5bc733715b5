// Rewrites that `set relaxed = on` allows: the value stays close, the last bits may differ.
//
//   x / 3          x * 0.333..                   one rounding more, no division
//   a * b + c      fma(a, b, c)                  one rounding less
//   x ^ 5          (x * x) * (x * x) * x         up to 8 and down to -8
//   x + 1. + 2.    x + 3.                        and so for products
#pragma once

#include "spec/spec.hpp"

namespace broadloom::rewrite {

// Of f32 and f64 only. Leaves a note in `spec` for each kind of rewrite that it made. Linear,
// iterative.
void relax(spec::TypedSpec &spec);

} // namespace broadloom::rewrite
