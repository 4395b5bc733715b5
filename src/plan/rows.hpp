// Inside the plan stage: which values are kept in a row of memory from one loop to the next.
//
//   for i
//     vector for j: step a0 += exp(x[i, j] - m)
//     vector for j: set y[i, j] = exp(x[i, j] - m) / a0       would compute exp once more
//
// The second loop cannot be part of the first, which it waits for; but a row of exp(x - m), as long
// as j, stays in the nearest caches, and each thread needs one only. The choice is a minimum cut,
// as in hold.hpp: a value is either kept, which costs a store and loads, or computed in each loop
// that needs it. The bits are the same either way.
//
// The states of a scan that other loops of the same turn read are kept in rows as well: they are at
// hand nowhere else.
//
//   for i
//     vector scan for j: set row0[j] = running a0; step a0 += x[i, j]
//     vector scan reverse for j: step a1 += row0[j]; set y[i, j] = running a1
#pragma once

#include "plan/nest.hpp"
#include "plan/trees.hpp"

namespace broadloom::plan {

// A value that the first of these loops computes and keeps for the others, which come after it in
// the same body.
struct Row {
  expr::NodeId value;
  Group group;
  std::vector<TreeId> loops;
  bool scan = false;  // a state of the scan that the first loop runs
  bool lanes = false; // one for each of the lanes around
};

// Once all items have their loops.
std::vector<Row> choose_rows(const Request &request, const Trees &trees, const Nests &nests,
                             Why &why);

} // namespace broadloom::plan
