// Finds a place for each item in the loop trees of the phases.
//
// Items come in an order in which every item follows those it needs. An item fits into a phase if its
// path can be walked from the root: along existing loops with the same key where they come late enough
// (after the loops of the folds that it needs), and new loops from there on. Where a fold that it
// needs lies in the same phase, the path must pass through the fold's body, and takes over the choice
// of vector axis made there. If no phase fits, a new one is opened at the end; folds read across
// phases leave their results in scratch arrays.
//
// A phase takes a limited number of items, so that a kernel of thousands of outputs becomes many small
// functions and not a huge one, whose compile time would grow faster than its size.
//
// A phase has one loop at its root, so that it can be handed out to threads; only the serial phases,
// made of joins, ordered folds and rank-0 stores, have several or none.
#include "plan/place.hpp"

#include "plan/thresholds.hpp"
#include "support/check.hpp"

#include <algorithm>

namespace broadloom::plan {
namespace {

class Placer {
public:
  Placer(Nests &nests, const Pairs &pairs) : nests_(nests), pairs_(pairs), apart_(nests, pairs) {}

  void run() {
    std::vector<int> fused; // stores, which nothing needs: they can wait
    for (int k = 0; k < int(nests_.items.size()); ++k)
      is_fused(k) ? fused.push_back(k) : place(k, 0);
    std::sort(fused.begin(), fused.end(), [&](int a, int b) {
      return std::pair(-first_phase(a), a) < std::pair(-first_phase(b), b);
    });
    for (int k : fused) place(k, phase_of_partner(k));
    for (int k = 0; k < int(nests_.items.size()); ++k)
      for (int need : nests_.items[k].needs) hand_over(nests_.items[need], nests_.items[k]);
  }

private:
  bool is_fused(int index) const {
    const Item &item = nests_.items[index];
    return item.kind == ItemKind::Store &&
           (std::any_of(pairs_.together.begin(), pairs_.together.end(),
                        [&](const auto &pair) {
                          return pair[0] == item.output || pair[1] == item.output;
                        }) ||
            std::ranges::any_of(pairs_.items_together, [&](const auto &pair) {
              return has(pair[0], index) || has(pair[1], index);
            }));
  }

  static bool has(const Pairs::Items &items, int index) {
    return std::find(items.begin(), items.end(), index) != items.end();
  }

  // Of the outputs with which `fuse` pairs this one, the latest phase that one of them has already.
  int phase_of_partner(int index) const {
    int phase = 0;
    const int output = nests_.items[index].output;
    for (const auto &pair : pairs_.together)
      for (const Item &other : nests_.items)
        if (other.kind == ItemKind::Store && other.phase >= 0 &&
            ((pair[0] == output && pair[1] == other.output) ||
             (pair[1] == output && pair[0] == other.output)))
          phase = std::max(phase, other.phase);
    for (const auto &pair : pairs_.items_together)
      for (std::size_t side = 0; side < 2; ++side)
        if (has(pair[side], index))
          for (int other : pair[1 - side])
            phase = std::max(phase, nests_.items[std::size_t(other)].phase);
    return phase;
  }

  // The first phase in which all that the item needs is at hand.
  int first_phase(int index) const {
    const Item &item = nests_.items[index];
    int first = 0;
    for (int need : item.needs) {
      const Item &fold = nests_.items[need];
      // Chunk results and held values are complete only when the phase that makes them is. What a scan
      // gives is at hand inside its loop only, where nothing but a store goes.
      const bool next = (!item.is_store() && item.loop.kind == LoopKind::Join) ||
                        need == item.carried_item || fold.kind == ItemKind::Hold ||
                        (fold.kind == ItemKind::Scan && !item.is_store());
      first = std::max(first, next ? fold.phase + 1 : fold.phase);
    }
    return first;
  }

  // Into the first phase that takes it: from `wish` on, else from where it can be.
  void place(int index, int wish) {
    const int first = first_phase(index);
    if (place_within(index, std::max(first, wish), int(nests_.phases.size()))) return;
    if (place_within(index, first, wish)) return;
    const Item &item = nests_.items[index];
    const bool serial = item.path.empty() || item.path.front().chain != 0;
    nests_.tree.push_back({});
    nests_.phases.push_back({int(nests_.tree.size()) - 1, serial, 0});
    support::check(fits(index, int(nests_.phases.size()) - 1),
                   "an item does not fit into an empty phase");
  }

  bool place_within(int index, int first, int last) {
    const Item &item = nests_.items[index];
    const bool serial = item.path.empty() || item.path.front().chain != 0;
    for (int phase = first; phase < last; ++phase)
      if (nests_.phases[phase].serial == serial &&
          nests_.phases[phase].items < most_items_in_a_phase && may_join(index, phase) &&
          fits(index, phase))
        return true;
    return false;
  }

  // Is there nothing in this phase from which `separate` keeps the item away? What is at hand in one place
  // only, an inner group of its own fold or a scan, it must follow.
  bool may_join(int index, int phase) const {
    if (apart_.empty()) return true;
    const Item &item = nests_.items[index];
    if (item.arg_item >= 0 && item.loop.kind != LoopKind::Join) return true;
    for (int need : item.needs)
      if (nests_.items[need].kind == ItemKind::Scan) return true;
    for (int k = 0; k < int(nests_.items.size()); ++k)
      if (nests_.items[k].phase == phase && !apart_.may_meet(index, k)) return false;
    return true;
  }

  // The child of `ancestor` through which `node` is reached, or -1 where it is not below it.
  int child_towards(int ancestor, int node) const {
    while (node >= 0 && nests_.tree[node].parent != ancestor) node = nests_.tree[node].parent;
    return node;
  }

  int position_of(int parent, int child) const {
    const auto &body = nests_.tree[parent].body;
    for (int k = 0; k < int(body.size()); ++k)
      if (body[k].kind == Entry::Kind::Loop && body[k].index == child) return k;
    support::bug("a loop is not in its parent's body");
  }

  bool fits(int index, int phase) {
    Item &item = nests_.items[index];
    const bool store = item.is_store();
    int at = nests_.phases[phase].root;
    bool has_vector = false;
    std::size_t depth = 0;
    int earliest = 0;
    for (;; ++depth) {
      int forced = -1;
      earliest = 0;
      for (int need : item.needs) {
        const Item &fold = nests_.items[need];
        if (fold.phase != phase) continue;
        const bool scan = fold.kind == ItemKind::Scan;
        if (scan && at == fold.loop_node) {
          earliest = int(nests_.tree[at].body.size());
          continue;
        }
        if (!scan && fold.body == at) {
          earliest = std::max(earliest, position_of(at, fold.loop_node) + 1);
          continue;
        }
        if (!scan && child_towards(fold.body, at) >= 0)
          continue; // further out: the way led past it
        const int child = child_towards(at, scan ? fold.loop_node : fold.body);
        if (child < 0 || (forced >= 0 && forced != child)) return false;
        forced = child;
      }
      if (depth == item.path.size()) {
        if (forced < 0) break;
        // The needed fold lies deeper: right where it lies in this item's own loop (a chain of groups).
        if (store || position_of(at, forced) < earliest || !takes(forced, item)) return false;
        settle(index, phase, at, position_of(at, forced));
        return true;
      }
      if (forced >= 0 && position_of(at, forced) < earliest) return false;
      LoopKey want = item.path[depth];
      if (forced >= 0) {
        const LoopKey &key = nests_.tree[forced].key;
        if (key.kind != want.kind || key.group != want.group) return false;
        if (!chooses_vector(item) && key.vector != want.vector) return false;
        if (key.scan && key.vector && depth + 1 < item.path.size()) return false; // no loops inside
        // The rows of a chunk come one after another.
        if (item.kind == ItemKind::Partial && key.vector && want.kind == LoopKind::Within)
          return false;
        has_vector = has_vector || key.vector;
        at = forced;
        continue;
      }
      if (chooses_vector(item)) want.vector = depth + 1 == item.path.size() && !has_vector;
      const int child = find_loop(at, want, earliest);
      if (child < 0) {
        if (is_full(at)) return false;
        break;
      }
      has_vector = has_vector || nests_.tree[child].key.vector;
      at = child;
    }
    // From here on nothing can fail but the fold's own loop, which needs room beside others at a root.
    if (depth == item.path.size() && !store && is_full(at) &&
        find_fold_loop(at, item, earliest) < 0)
      return false;
    for (; depth < item.path.size(); ++depth) {
      LoopKey key = item.path[depth];
      if (chooses_vector(item)) key.vector = depth + 1 == item.path.size() && !has_vector;
      at = add_loop(at, key);
      earliest = 0;
    }
    settle(index, phase, at, earliest);
    return true;
  }

  // A store has its lanes along its innermost loop, if it has no others: but not along short rows.
  static bool chooses_vector(const Item &item) {
    return item.is_store() && (item.path.empty() || item.path.back().turns == 0);
  }

  // A parallel phase has one loop at its root.
  bool is_full(int at) const {
    for (const PhaseTree &phase : nests_.phases)
      if (phase.root == at && !phase.serial) return !nests_.tree[at].body.empty();
    return false;
  }

  int find_loop(int at, const LoopKey &key, int earliest) const {
    const auto &body = nests_.tree[at].body;
    for (int k = earliest; k < int(body.size()); ++k)
      if (body[k].kind == Entry::Kind::Loop && nests_.tree[body[k].index].key == key)
        return body[k].index;
    return -1;
  }

  int find_fold_loop(int at, const Item &item, int earliest) const {
    const auto &body = nests_.tree[at].body;
    for (int k = earliest; k < int(body.size()); ++k) {
      if (body[k].kind == Entry::Kind::Loop && takes(body[k].index, item)) return body[k].index;
    }
    return -1;
  }

  // Whether a loop can carry this fold. An exact fold (leaf 0) takes any leaves; others must agree.
  bool takes(int loop, const Item &item) const {
    const TreeNode &node = nests_.tree[loop];
    if (node.key != item.loop) return false;
    if (item.leaf == in_order) return node.folds.empty() || node.leaf == in_order;
    return node.leaf == item.leaf || (node.leaf != in_order && (node.leaf == 0 || item.leaf == 0));
  }

  int add_loop(int at, const LoopKey &key) {
    return add_loop(at, key, int(nests_.tree[at].body.size()));
  }
  int add_loop(int at, const LoopKey &key, int position) {
    const int child = int(nests_.tree.size());
    nests_.tree.push_back({});
    nests_.tree[child].key = key;
    nests_.tree[child].parent = at;
    auto &body = nests_.tree[at].body;
    body.insert(body.begin() + position, {Entry::Kind::Loop, child});
    return child;
  }

  void settle(int index, int phase, int at, int earliest) {
    Item &item = nests_.items[index];
    item.phase = phase;
    ++nests_.phases[phase].items;
    item.body = at;
    if (item.is_store()) {
      nests_.tree[at].body.push_back({Entry::Kind::Set, index});
      if (item.kind == ItemKind::Partial) clear(index, at);
      return;
    }
    int loop = find_fold_loop(at, item, earliest);
    if (loop < 0) loop = add_loop(at, item.loop);
    item.loop_node = loop;
    TreeNode &node = nests_.tree[loop];
    node.leaf = item.leaf == in_order ? in_order : std::max(node.leaf, item.leaf);
    node.folds.push_back(index);
    node.body.push_back({Entry::Kind::Step, index});
  }

  // The states of a Partial start anew before the loop over the rows of each chunk.
  void clear(int index, int body) {
    const Item &item = nests_.items[index];
    std::vector<LoopKey> inside;
    while (nests_.tree[body].key.kind != LoopKind::Within ||
           nests_.tree[body].key.group != item.loop.group) {
      inside.push_back(nests_.tree[body].key);
      body = nests_.tree[body].parent;
    }
    int at = nests_.tree[body].parent, limit = position_of(at, body);
    for (auto key = inside.rbegin(); key != inside.rend(); ++key) {
      const int known = find_loop(at, *key, 0);
      const bool before = known >= 0 && position_of(at, known) < limit;
      at = before ? known : add_loop(at, *key, limit);
      limit = int(nests_.tree[at].body.size());
    }
    nests_.tree[at].body.push_back({Entry::Kind::Clear, index});
  }

  // A result read in another phase goes through memory.
  void hand_over(Item &fold, const Item &user) {
    if (fold.phase == user.phase || fold.scratch >= 0) return;
    fold.scratch = nests_.scratch_count;
    nests_.scratch_count += int(nests_.recipes[fold.recipe].states.size());
  }

  Nests &nests_;
  const Pairs &pairs_;
  const Apart apart_;
};

} // namespace

void place_items(Nests &nests, const Pairs &pairs) { Placer(nests, pairs).run(); }

} // namespace broadloom::plan
