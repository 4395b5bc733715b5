// What `fuse` and `separate` ask of the placing of items, and what came of it.
//
//   separate a, b      no phase holds an item that only a needs beside one that only b needs
//   fuse a, b          the stores of a and of b go into one phase if they fit, the later of theirs
//
// A let has no store. It stands for the folds that it is the result of, and for its value where that is held in memory:
// `separate m, y` keeps these out of the phase that stores y, and `fuse m, y` lets the store wait for their phase.
#pragma once

#include "plan/trees.hpp"

namespace broadloom::plan {

class Apart {
public:
  explicit Apart(const Nests &nests);
  bool empty() const { return pairs_ == 0 && nests_.items_apart.empty(); }
  bool may_meet(int item, int other) const;

private:
  const Nests &nests_;
  std::size_t pairs_;
  std::vector<std::vector<bool>> needed_; // [item][2 * pair + side]: does that output need it?
};

// The pairs of outputs that `fuse` or `separate` names, of those that are computed.
std::vector<std::array<int, 2>> paired_outputs(const Request &request, bool fuse);

// The items of pairs of which one is a let.
void note_paired_items(const Request &request, const Trees &trees, Nests &nests);

// Notes for `why`, once all items have their phases.
void note_pairings(const spec::TypedSpec &spec, const Trees &trees, Nests &nests);

} // namespace broadloom::plan
