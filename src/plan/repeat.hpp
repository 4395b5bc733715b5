// Inside the plan stage: short operands that are repeated beforehand, so that short rows become long ones.
//
// Problem: in x[h, w, c] * scale[c] with three channels the innermost loop has three positions, and most
// lanes of a vector would be idle.
// Method: scale is written w times into a scratch array [w, c], which lies as x does. Then w and c are one
// axis for every operand, and the loops are `for h`, `vector for w.c`. The scratch array is read once for
// each h, from the nearest cache. Where there is no h, or few of them, and all axes are one for the other operands, as in
// x[n, c] + bias[c], the array holds a block of n, and the loops are `for n.c.chunk`, `vector for n.c within n.c.chunk`.
#pragma once

#include "plan/nest.hpp"

namespace broadloom::plan {

// Chooses such operands and lets `walks` walk their scratch arrays. A kernel with folds, scans or
// positions is left as it is: their meaning hangs on how its operands lie. Gives the classes, to which a block of n is
// added where there is one: `resolved`, or a copy of it in `room`.
const Resolved &repeat_short_operands(const spec::TypedSpec &spec, const Resolved &resolved,
                                      const std::vector<bool> &wanted, const Machine &machine,
                                      Walks &walks, Resolved &room);

} // namespace broadloom::plan
