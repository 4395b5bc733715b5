// What `fuse` and `separate` ask of the placing of items, and what came of it.
//
//   separate a, b      no phase holds an item that only a needs beside one that only b needs
//   fuse a, b          the stores of a and of b go into one phase if they fit, the later of theirs
//
// A let has no store. It stands for the folds that it is the result of, and for its value where
// that is held in memory: `separate m, y` keeps these out of the phases that store y and compute
// its folds, and `fuse m, y` lets the store wait for their phase.
#pragma once

#include "plan/nest.hpp"
#include "plan/trees.hpp"

namespace broadloom::plan {

// What the pairs that are computed mean for items.
struct Pairs {
  std::vector<std::array<std::size_t, 2>> apart, together; // outputs
  // Pairs with a let, by items: those of its folds and of its value in memory, and an output's
  // store; of what is kept apart, the folds of an output, too.
  using Items = std::vector<ItemId>;
  std::vector<std::array<Items, 2>> items_apart, items_together;
};
Pairs find_pairs(const Request &request, const Trees &trees, const Nests &nests);

class Apart {
public:
  Apart(const Nests &nests, const Pairs &pairs);
  bool empty() const { return pairs_.apart.empty() && pairs_.items_apart.empty(); }
  bool may_meet(ItemId item, ItemId other) const;

private:
  const Pairs &pairs_;
  std::vector<std::array<std::vector<bool>, 2>> needed_; // [pair][side][item]: by that output
};

// What came of them, once all items have their phases.
void explain_pairs(const Request &request, const Trees &trees, const Nests &nests, Why &why);

} // namespace broadloom::plan
