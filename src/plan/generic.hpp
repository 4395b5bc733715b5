// Inside the plan stage: a program that serves nearly all patterns of a kernel.
//
// Problem: two operands of six dims, each dim 1 or not, come to hundreds of patterns, and each is
// compiled.
// Method: a kernel that keeps as many exact patterns as it may asks for a generic plan. What hangs
// on the shape becomes a number:
//
//   which axes there are     there are as many loops over kept axes as an output has dims, and over
//                            folded ones as a fold may fold; groups that a shape lacks are axes of
//                            extent 1, on the outside, where they join nothing
//   what an operand walks    every operand walks every loop around, by a stride that may be 0; only
//                            whether the lanes lie side by side is known
//   what is folded           a fold over nothing steps once, as a fold over axes of extent 1 does
//   what shares loops        nothing does: each fold and each store has a phase of its own
//
// What the bits depend on stays as it is: the groups of a fold by its own inputs, the 32 ways or
// one way of the innermost group, leaves, the order of the groups. So every fold has two forms, and
// a generic plan the bits of the exact one. Nothing is chosen by size (chunks, sweeps, tiles,
// values held), so it may be slower.
//
//   d = sum(g, like=x), g[2, 3, 4], x[2, 1, 4]    for one1, one2, i0, [lanes] i2 { for one4, one5,
//                                                 i1: a0 += g }  d = a0
//
// Scans, ordered folds and positions (iota, argmax) ask for loops along the very axis; a schedule
// names axes: kernels with those have exact plans only. So do those where a fold over several axes
// reads what another has folded: where that one folds nothing, the groups of the outer one are
// those of the inputs, which the array between the two need not be walked by.
#pragma once

#include "plan/request.hpp"

namespace broadloom::plan {

// The request for a generic plan: with classes that fill its loops up.
Request make_generic(Request request);

} // namespace broadloom::plan
