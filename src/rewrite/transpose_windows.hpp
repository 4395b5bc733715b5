// sum(e, like=x[2*i + u]) written out: the adjoint of reading x through a window, as an ordinary
// sum.
//
//   s = sum(d_y * k, like=x[2*i + u])                 d_y over i, k over u, x over p
//   s[p] = sum_u where(p - u is 2*i for an index i of d_y,  d_y[(p - u) / 2] * k[u],  0)
//
// Each position of x gathers what the elements that are read there send back, so nothing is
// scattered: no thread adds to what another adds to, and the order of the sum is that of any other.
// For each dim of x one axis of its form, the first as written, is put in terms of the position p
// and the other axes, which are folded (reindex.hpp). Where a form is an axis alone, that is a mere
// renaming: nothing is masked or folded, and the sum of x[j, k] beside x[i, k] is a plain product
// of matrices. A dim all of whose axes are taken by others, as the second one of x[i, i], is a
// condition.
#pragma once

#include "spec/spec.hpp"

namespace broadloom::rewrite {

// A Fold whose `like` is a window is such a sum. What is no longer read stays in the graph. Throws
// SpecError E0605, E0013, ShapeError E0142. Iterative.
void transpose_windows(spec::TypedSpec &spec);

} // namespace broadloom::rewrite
