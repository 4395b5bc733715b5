// A kernel that folds along one axis, apart into three, so that blocks of its data can be folded
// each on its own.
//
//   kernel k { in x : f32[i, j]; in y : f32[i]; out m = mean(x, j) * y }       along j
//
//   block   in x           out state0 = the state of sum(x, j), state1 = extent(j)
//   join    in a0, b0, a1, b1      out state0, state1: of two blocks, one behind the other
//   rest    in y, state0, state1   out m
//
// Folds of what others along the axis came to are folded in later rounds, whose blocks are given
// the states of the rounds before:
//
//   mean((x - mean(x, j)) ^ 2, j)      round 0: the states of sum(x, j), extent(j)
//       round 1: of sum((x - state0 / state1) ^ 2, j)
//
// Typed graphs are taken apart and not texts: no type, cast or fold is worked out twice, so each
// has the bits that it has in the whole.
#pragma once

#include "spec/spec.hpp"

#include <string>
#include <utility>
#include <vector>

namespace broadloom::rewrite {

// Scans along it go in rounds, too: one round finds what each of their leaves (blocks of 4096
// positions, docs/design.md) comes to, and of that what comes before each; what reads the scan
// starts it from there, block by block.
//
//   out c = scan(sum, x, j)        leaf    in x          out state0 = scan(sum, x, j) total
//                                  before  in start, t[leaf]      out state0[leaf]
//                                  rest    in x, state0  out c = scan(sum, x, j) from state0

struct ScanOfRound {
  expr::NodeId total;          // in `leaf`: of its first state
  std::size_t first_state = 0; // of the outputs of `leaf`
  bool exclusive = false, reverse = false;
};

struct FoldRound {
  spec::TypedSpec block, join;
  spec::TypedSpec leaf, before; // of scans
  std::vector<ScanOfRound> scans;
  // Of `block`: the first state of each fold along the axis, what the places to cut follow from.
  std::vector<expr::NodeId> folds;
  std::vector<std::size_t> first_states; // [fold]: the output that this is
  std::vector<expr::NodeId> extents;     // of `block`: what counts positions of the axis
  // Folds and scans of the kernel, and what they are in `block`: their trees must be the same for
  // the bits to be.
  std::vector<std::pair<expr::NodeId, expr::NodeId>> same, same_in_leaf;
};

struct FoldSplit {
  int axis = 0;
  std::vector<FoldRound> rounds;
  // What is made of all states. Where outputs have the axis it gives them block by block: of all
  // inputs, which are then its first ones.
  spec::TypedSpec rest;
  bool maps = false;
  std::vector<std::pair<expr::NodeId, expr::NodeId>> same_in_rest; // as of a round, if it maps
  // [input that a call is given]: its dims that are cut; of the others, which input of `rest` it is
  // (-1: none).
  std::vector<std::vector<int>> dims;
  std::vector<int> place_in_rest;
  // The inputs of a block or a leaf are those of the kernel, where it begins as an i64 if this is
  // set (for `iota(j)`, argmin and argmax), and the states of all rounds before (of each: those of
  // `block`, then what `leaf` gives, as it is before the block), then windows; those of `rest` end
  // with where the block begins, the states of all rounds and windows.
  bool takes_offset = false, rest_takes_offset = false;
  bool rest_goes_on = false; // it scans along the axis
};

// For blocks: no input declares how long this axis is, but for those that are repeated along it.
spec::TypedSpec of_any_extent(spec::TypedSpec spec, int axis);

// Dims without a label that all reads walk along one axis and no other, as of a let that is an
// array and read as `d[i]`, have that axis: they are cut as those of labels are.
spec::TypedSpec with_walked_dims(spec::TypedSpec spec);

// The axis of this name. Throws ShapeError E0104 where no input has it.
int find_axis(const spec::TypedSpec &spec, const std::string &axis);

// Of a window that reads, at a position of the axis, what its array has at this position, or in an
// array that has no such axis: `x[i, j + 1]` along i, `table[k[i]]`. So it reads what a block has.
bool reads_in_place(const spec::TypedSpec &spec, const spec::TypedInput &window, int axis);

// Throws ShapeError E0104 for an axis that no input has, SpecError E0060 where the kernel does not
// come apart along it, with the reason.
FoldSplit split_folds(const spec::TypedSpec &spec, const std::string &axis);

// Why outputs at a position of the axis are not made of what inputs have at this position alone;
// empty: they are, so that blocks of the data give blocks of the outputs. Throws E0104.
std::string why_no_map(const spec::TypedSpec &spec, const std::string &axis);

} // namespace broadloom::rewrite
