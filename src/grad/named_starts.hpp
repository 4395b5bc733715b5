// Inside the gradient stage: what a loop begins with, read by the labels of the loop.
//
//   in  u0 : f64[:]
//   let u[t < 5, i] = u[t - 1, i] * 2 from u0        becomes .. from u0[i]
//
// Something flows back into u0[i], as it has axes with names.
#pragma once

#include "spec/materialise.hpp"

namespace broadloom::grad {

// `split`: of the kernel. Empty where no loop begins with an input without labels.
std::optional<SpecData> name_starts(const SpecData &data, const spec::Split &split);

} // namespace broadloom::grad
