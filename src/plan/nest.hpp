// Inside the plan stage: what has to be done (items), and the loop trees that do it (phases).
//
// An item is one fold over one group of axes, one scan, the store of one output, or that of a value
// held. Each item has a
// path: the loops around it. A Partial is a fold over the rows of an array: its states are a row in
// memory for each chunk of the folded axis, so that it goes along with whatever else sweeps the
// rows; a join of the chunks follows. Items whose paths agree share loops, which is how outputs of
// several modes come out of one sweep:
//
//   out z = broadcast x * y          path i j, store         for i
//   out s = accumulate(sum) x        path i, fold over j       for j { z[i,j] = ..; a1 += .. }
//   out t = reduce(sum) x * y  []    path -, fold over i j     s[i] = ..; a0 += a1
//
// A fold's result is used in a register where the user's path passes the loops of the fold;
// elsewhere it goes through a scratch array, and the user waits for a later phase.
#pragma once

#include "plan/request.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace broadloom::plan {

enum class LoopKind : std::uint8_t {
  Plain,  // all positions of the group
  Chunks, // the chunks of the group
  Within, // the positions of the current chunk
  Join,   // the chunks again, joining their results
};
struct ChainId { // the loops of an ordered fold, which carry its states and nobody else's
  std::uint32_t index = 0;
  friend auto operator<=>(const ChainId &, const ChainId &) = default;
};
struct LoopKey {
  LoopKind kind = LoopKind::Plain;
  Group group;
  bool vector = false;
  bool scan = false, reverse = false;
  std::optional<ChainId> chain = {};
  int turns = 0; // of a short fold inside a vector loop: its number of positions
  friend bool operator==(const LoopKey &, const LoopKey &) = default;
};

struct ItemId {
  std::uint32_t index = 0;
  friend auto operator<=>(const ItemId &, const ItemId &) = default;
};
struct TreeId { // a loop of a phase, or its root
  std::uint32_t index = 0;
  friend auto operator<=>(const TreeId &, const TreeId &) = default;
};

enum class ItemKind : std::uint8_t { Fold, Scan, Partial, Store, Hold };
struct Item {
  ItemKind kind = ItemKind::Store;
  std::vector<LoopKey> path; // outermost first; of a Fold without its own loop
  std::vector<ItemId> needs; // fold and scan items whose results it reads directly
  std::size_t output = 0;    // Store
  expr::NodeId value;        // Hold: what goes into its scratch array, for later phases
  std::optional<std::size_t> repeated = {}; // Hold of an input: in Walks::repeated
  std::optional<std::size_t> panel = {};    // Hold of an input: in Panels::arrays

  // Fold, Scan, Partial: values of graph nodes, or the states of the item below it in a chain of
  // groups, accumulated along `loop`.
  std::vector<expr::NodeId> args;
  std::optional<ItemId> arg_item = {};
  std::optional<expr::NodeId> mask = {}; // else the item below comes to 0
  LoopKey loop;
  std::uint32_t recipe = 0; // in Nests::recipes
  std::int64_t leaf = 0;    // as loop::Loop; `in_order` for a single leaf that is stepped in order
  bool exclusive = false;   // Scan

  // Where the states start, if not at the recipe's start: graph nodes; or the running states of the
  // item that carries an outer loop of the same ordered fold; or what a scan over the chunks left.
  std::vector<expr::NodeId> start;
  std::optional<ItemId> start_item = {}, carried_item = {};
  std::uint64_t read = 0; // bit k: somebody reads state k

  std::optional<std::uint32_t> scratch = {}; // the array that takes state 0; the others follow

  // Where it is, once it is placed.
  struct Place {
    std::size_t phase = 0;
    TreeId body; // that holds it (a Fold: its loop)
    TreeId loop; // its own: Fold, Scan
  };
  std::optional<Place> place = {};

  bool is_in(std::size_t phase) const { return place && place->phase == phase; }
  // Something that is stored at every position of its path, and no loop of its own.
  bool is_store() const {
    return kind == ItemKind::Store || kind == ItemKind::Hold || kind == ItemKind::Partial;
  }
};
inline constexpr std::int64_t in_order = -1;

struct Entry {
  enum class Kind : std::uint8_t { Loop, Step, Set, Clear } kind;
  TreeId loop = {}; // Loop
  ItemId item = {}; // Step, Set; Clear: a Partial, whose states are set to their start
};

struct TreeNode {
  LoopKey key;
  std::optional<TreeId> parent; // none: the root of a phase
  std::vector<Entry> body;
  std::vector<ItemId> folds; // accumulated by this loop
  std::int64_t leaf = 0;
};

struct PhaseTree {
  TreeId root;
  bool serial = false; // runs once: joins and rank-0 stores
  int items = 0;
};

struct Nests {
  std::vector<Item> items;
  std::vector<TreeNode> tree;
  std::vector<PhaseTree> phases;
  std::vector<std::optional<ItemId>> item_of_fold;  // [graph node]: gives a fold's or scan's value
  std::vector<std::optional<ItemId>> item_of_held;  // [graph node]: holds it
  std::vector<std::optional<ItemId>> item_of_input; // [input]: repeats it
  std::vector<std::optional<ItemId>> item_of_panel; // [input]: packs it
  std::vector<ops::Recipe> recipes;
  std::uint32_t scratch_count = 0;

  ItemId add(Item item) {
    items.push_back(std::move(item));
    return {std::uint32_t(items.size() - 1)};
  }
  Item &operator[](ItemId id) { return items[id.index]; }
  const Item &operator[](ItemId id) const { return items[id.index]; }
  TreeNode &operator[](TreeId id) { return tree[id.index]; }
  const TreeNode &operator[](TreeId id) const { return tree[id.index]; }
};

} // namespace broadloom::plan
