// Inside the plan stage: what has to be done (items), and the loop trees that do it (phases).
//
// An item is one fold over one group of axes, one scan, the store of one output, or that of a value held. Each item has a
// path: the loops around it. A Partial is a fold over the rows of an array: its states are a row in memory for each chunk
// of the folded axis, so that it goes along with whatever else sweeps the rows; a join of the chunks follows. Items whose paths agree share loops,
// which is how outputs of several modes come out of one sweep:
//
//   out z = broadcast x * y          path i j, store         for i
//   out s = accumulate(sum) x        path i, fold over j       for j { z[i,j] = ..; a1 += .. }
//   out t = reduce(sum) x * y  []    path -, fold over i j     s[i] = ..; a0 += a1
//
// A fold's result is used in a register where the user's path passes the loops of the fold; elsewhere
// it goes through a scratch array, and the user waits for a later phase.
#pragma once

#include "plan/request.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace broadloom::plan {

enum class LoopKind : std::uint8_t {
  Plain,  // all positions of the group
  Chunks, // the chunks of the group
  Within, // the positions of the current chunk
  Join,   // the chunks again, joining their results
};
struct LoopKey {
  LoopKind kind = LoopKind::Plain;
  Group group;
  bool vector = false;
  bool scan = false, reverse = false;
  int chain = 0; // of an ordered fold: its loops carry its states and nobody else's
  int turns = 0; // of a short fold inside a vector loop: its number of positions
  friend bool operator==(const LoopKey &, const LoopKey &) = default;
};

enum class ItemKind : std::uint8_t { Fold, Scan, Partial, Store, Hold };
struct Item {
  ItemKind kind = ItemKind::Store;
  std::vector<LoopKey> path; // outermost first; of a Fold without its own loop
  std::vector<int> needs;    // fold and scan items whose results it reads directly
  int output = -1;           // Store
  expr::NodeId value;        // Hold: what goes into its scratch array, for later phases
  int repeated = -1;         // Hold of an input: in Walks::repeated

  // Fold, Scan, Partial: values of graph nodes, or the states of the item below it in a chain of groups,
  // accumulated along `loop`.
  std::vector<expr::NodeId> args;
  int arg_item = -1;
  LoopKey loop;
  std::uint32_t recipe = 0; // in Nests::recipes
  std::int64_t leaf = 0;    // as loop::Loop; `in_order` for a single leaf that is stepped in order
  bool exclusive = false;   // Scan

  // Where the states start, if not at the recipe's start: graph nodes; or the running states of the
  // item that carries an outer loop of the same ordered fold; or what a scan over the chunks left.
  std::vector<expr::NodeId> start;
  int start_item = -1;
  int carried_item = -1;
  std::uint64_t read = 0; // bit k: somebody reads state k

  // Something that is stored at every position of its path, and no loop of its own.
  bool is_store() const {
    return kind == ItemKind::Store || kind == ItemKind::Hold || kind == ItemKind::Partial;
  }

  // Where it ended up.
  int phase = -1;
  int body = -1;      // the tree node whose body holds it (a Fold: its loop)
  int loop_node = -1; // Fold
  int scratch = -1;   // index of the scratch array that takes state 0; the others follow
};
inline constexpr std::int64_t in_order = -1;

struct Entry {
  enum class Kind : std::uint8_t { Loop, Step, Set, Clear } kind;
  int index; // Loop: tree node; Step, Set: item; Clear: a Partial, whose states are set to their start
};

struct TreeNode { // a loop, or the root of a phase
  LoopKey key;
  int parent = -1;
  std::vector<Entry> body;
  std::vector<int> folds; // items accumulated by this loop
  std::int64_t leaf = 0;
};

struct PhaseTree {
  int root = -1;
  bool serial = false; // runs once: joins and rank-0 stores
  int items = 0;
};

struct Nests {
  std::vector<Item> items;
  std::vector<TreeNode> tree;
  std::vector<PhaseTree> phases;
  std::vector<int>
      item_of_fold; // [graph node]: the item that gives a fold's or scan's value, or -1
  std::vector<int> item_of_held;  // [graph node]: the item that holds it, or -1
  std::vector<int> item_of_input; // [input]: the item that repeats it, or -1
  std::vector<ops::Recipe> recipes;
  int scratch_count = 0;
};

} // namespace broadloom::plan
