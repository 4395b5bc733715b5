// Inside the plan stage: which values are kept in a row of memory from one loop to the next.
//
//   for i
//     vector for j: step a0 += exp(x[i, j] - m)
//     vector for j: set y[i, j] = exp(x[i, j] - m) / a0       would compute exp once more
//
// The second loop cannot be part of the first, which it waits for; but a row of exp(x - m), as long as j, stays in
// the nearest caches, and each thread needs one only. The choice is a minimum cut, as in hold.hpp: a value is either
// kept, which costs a store and loads, or computed in each loop that needs it. The bits are the same either way.
#pragma once

#include "plan/trees.hpp"

namespace broadloom::plan {

// In place, once all items have their loops: fills nests.rows.
void choose_rows(const Request &request, const Trees &trees, Nests &nests);

} // namespace broadloom::plan
