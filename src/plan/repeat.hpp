// Inside the plan stage: short operands that are repeated beforehand, so that short rows become
// long ones.
//
// Problem: in x[h, w, c] * scale[c] with three channels the innermost loop has three positions, and
// most lanes of a vector would be idle.
// Method: scale is written w times into a scratch array [w, c], which lies as x does. Then w and c
// are one axis for every operand, and the loops are `for h`, `vector for w.c`. The scratch array is
// read once for each h, from the nearest cache. Where there is no h, or few of them, and all axes
// are one for the other operands, as in x[n, c] + bias[c], the array holds a block of n, and the
// loops are `for n.c.chunk`, `vector for n.c within n.c.chunk`.
#pragma once

#include "plan/request.hpp"

namespace broadloom::plan {

// Chooses such operands and lets their walks be those of their scratch arrays; where there is a
// block of n, it is a class more. A kernel with folds, scans or positions is left as it is: their
// meaning hangs on how its operands lie.
Request repeat_short_operands(Request request, const Machine &machine);

} // namespace broadloom::plan
