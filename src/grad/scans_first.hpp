// Inside the gradient stage: scans under a sum through a window, each in an array of its own.
//
//   out y = prod(x[i + 1], i)
//   out d_x = sum(d_y * scan(prod, x[i + 1], i, ..) * .., like=x[i + 1])
//
// Such a sum gathers: at p it reads what stands at i = p - 1. A scan has no value at one position
// alone, so it is computed first, along i:
//
//   let along[i] = d_y * scan(prod, x[i + 1], i, ..) * ..
//   out d_x = sum(along[i], like=x[i + 1])
#pragma once

#include "grad/bounds.hpp"

#include <set>
#include <string>

namespace broadloom::grad {

// `bounds`: of the kernel that it is derived from, as for with_bounds(). `saved`: inputs that stand
// for lets. Sums whose axes have no labels stay (E0605). Throws what `analyse` throws.
void compute_scans_first(SpecData &data, const Decls &bounds,
                         const std::set<std::string> &saved = {});

} // namespace broadloom::grad
