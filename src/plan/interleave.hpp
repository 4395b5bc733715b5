// Inside the plan stage: phases that go through the same input together, block by block.
//
// Problem: `out r[i] = sum(x, j); out s = sum(x)` is two loops, as each fold has a tree of its own,
// and each of them reads x from memory.
// Method: both go through x from its first element to its last. Their boxes are cut into the same
// number of blocks, each along its outermost axis, and a block of the second phase runs right after
// the same block of the first, which left its part of x in the caches. Neither reads what the other
// stores, so that no bit depends on it. What joins the chunks of the first runs after both.
//
//   x of 256 MB in blocks of 4 MB     phase 0: i in [0, 64)       phase 1: i.j.chunk in [0, 1)
//                                     phase 0: i in [64, 128)     phase 1: i.j.chunk in [1, 2)  ..
#pragma once

#include "plan/plan.hpp"

#include <cstdint>
#include <vector>

namespace broadloom::plan {

// By which part of an input phases may be interleaved.
struct BlocksOfInput {
  double least_input = 0;  // bytes: less stays in a core's caches from one phase to the next
  double block = 0;        // bytes that stay there from one part of a block to the next
  double most_block = 0;   // bytes: more would not be there any more
  std::int64_t fewest = 1; // blocks, so that there are some for all threads
};
BlocksOfInput blocks_of_input(const Machine &machine);

// In the order of their first phases; none has a phase of another.
std::vector<Interleaving> find_interleavings(const loop::Program &program, const Binding &binding,
                                             const BlocksOfInput &sizes);

} // namespace broadloom::plan
