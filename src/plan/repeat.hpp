// Inside the plan stage: short operands that are repeated beforehand, so that short rows become long ones.
//
// Problem: in x[h, w, c] * scale[c] with three channels the innermost loop has three positions, and most
// lanes of a vector would be idle.
// Method: scale is written w times into a scratch array [w, c], which lies as x does. Then w and c are one
// axis for every operand, and the loops are `for h`, `vector for w.c`. The scratch array is read once for
// each h, from the nearest cache.
#pragma once

#include "plan/nest.hpp"

namespace broadloom::plan {

// Chooses such operands and lets `walks` walk their scratch arrays. A kernel with folds, scans or
// positions is left as it is: their meaning hangs on how its operands lie.
void repeat_short_operands(const spec::TypedSpec &spec, const Resolved &resolved,
                           const std::vector<bool> &wanted, Walks &walks);

} // namespace broadloom::plan
