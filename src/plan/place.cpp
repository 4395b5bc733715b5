// Finds a place for each item in the loop trees of the phases.
//
// Items come in an order in which every item follows those it needs. An item fits into a phase if
// its path can be walked from the root: along existing loops with the same key where they come late
// enough (after the loops of the folds that it needs), and new loops from there on. Where a fold
// that it needs lies in the same phase, the path must pass through the fold's body, and takes over
// the choice of vector axis made there. If no phase fits, a new one is opened at the end; folds
// read across phases leave their results in scratch arrays.
//
// A phase takes a limited number of items, so that a kernel of thousands of outputs becomes many
// small functions and not a huge one, whose compile time would grow faster than its size.
//
// A phase has one loop at its root, so that it can be handed out to threads; only the serial
// phases, made of joins, ordered folds and rank-0 stores, have several or none.
#include "plan/place.hpp"

#include "plan/thresholds.hpp"
#include "support/check.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace broadloom::plan {
namespace {

class Placer {
public:
  Placer(const Resolved &resolved, Nests &nests, const Pairs &pairs, bool alone)
      : resolved_(resolved), nests_(nests), pairs_(pairs), apart_(nests, pairs), alone_(alone) {}

  void run() {
    std::vector<ItemId> fused; // stores, which nothing needs: they can wait
    for (std::uint32_t k = 0; k < nests_.items.size(); ++k)
      is_fused(ItemId{k}) ? fused.push_back(ItemId{k}) : place(ItemId{k}, 0);
    std::sort(fused.begin(), fused.end(), [&](ItemId a, ItemId b) {
      return std::pair(first_phase(b), a) < std::pair(first_phase(a), b);
    });
    for (ItemId id : fused) place(id, phase_of_partner(id));
    for (const Item &user : nests_.items)
      for (ItemId need : user.needs) hand_over(nests_[need], user);
  }

private:
  bool is_fused(ItemId id) const {
    const Item &item = nests_[id];
    return item.kind == ItemKind::Store &&
           (std::any_of(pairs_.together.begin(), pairs_.together.end(),
                        [&](const auto &pair) {
                          return pair[0] == item.output || pair[1] == item.output;
                        }) ||
            std::ranges::any_of(pairs_.items_together, [&](const auto &pair) {
              return has(pair[0], id) || has(pair[1], id);
            }));
  }

  static bool has(const Pairs::Items &items, ItemId id) {
    return std::find(items.begin(), items.end(), id) != items.end();
  }

  // Of the outputs with which `fuse` pairs this one, the latest phase that one of them has already.
  std::size_t phase_of_partner(ItemId id) const {
    std::size_t phase = 0;
    const std::size_t output = nests_[id].output;
    for (const auto &pair : pairs_.together)
      for (const Item &other : nests_.items)
        if (other.kind == ItemKind::Store && other.place &&
            ((pair[0] == output && pair[1] == other.output) ||
             (pair[1] == output && pair[0] == other.output)))
          phase = std::max(phase, other.place->phase);
    for (const auto &pair : pairs_.items_together)
      for (std::size_t side = 0; side < 2; ++side)
        if (has(pair[side], id))
          for (ItemId other : pair[1 - side])
            if (nests_[other].place) phase = std::max(phase, nests_[other].place->phase);
    return phase;
  }

  // The first phase in which all that the item needs is at hand.
  std::size_t first_phase(ItemId id) const {
    const Item &item = nests_[id];
    std::size_t first = 0;
    for (ItemId need : item.needs) {
      const Item &fold = nests_[need];
      // Chunk results and held values are complete only when the phase that makes them is. What a
      // scan gives is at hand inside its loop, where nothing but a store goes, and from there on in
      // a row.
      const bool next = (!item.is_store() && item.loop.kind == LoopKind::Join) ||
                        need == item.carried_item || fold.kind == ItemKind::Hold ||
                        (fold.kind == ItemKind::Scan && !item.is_store() && !reads_row(item, need));
      first = std::max(first, fold.place->phase + (next ? 1 : 0));
    }
    return first;
  }

  // Whether the states of a scan that somebody reads can be kept in rows, for what comes later in
  // the same turn of the loops around: where these rows, one for each lane that is around, stay in
  // the caches with those that are kept already.
  bool has_room(ItemId id) const {
    const Item &scan = nests_[id];
    const auto other = row_bytes_.find(scan.place->body);
    const double bytes = row_bytes_of(scan) +
                         (other == row_bytes_.end() || in_rows_.contains(id) ? 0 : other->second);
    return scan.loop.kind == LoopKind::Plain &&
           bytes <= (has_lanes_around(scan) ? most_bytes_of_lane_rows : most_row_bytes);
  }

  static bool has_lanes_around(const Item &scan) {
    return std::ranges::any_of(scan.path, &LoopKey::vector);
  }

  double row_bytes_of(const Item &scan) const {
    double bytes = 0;
    const std::vector<DType> &states = nests_.recipes[scan.recipe].states;
    for (std::size_t k = 0; k < states.size(); ++k)
      if (scan.read >> k & 1) bytes += double(size_of(states[k]));
    return bytes * double(group_extent(resolved_, scan.loop.group)) *
           (has_lanes_around(scan) ? loop::row_lanes : 1);
  }

  // Whether this item can read the scan from a row: it has to walk the scanned axis inside the
  // loops around the scan.
  bool reads_row(const Item &item, ItemId need) const {
    const Item &scan = nests_[need];
    const auto walks = [&](const LoopKey &key) {
      return key.kind == LoopKind::Plain && key.group == scan.loop.group && key.turns == 0;
    };
    if (!has_room(need)) return false;
    for (std::size_t k = scan.path.size(); k < item.path.size(); ++k) {
      if (walks(item.path[k])) return true;
      if (item.path[k].vector) return false;
    }
    return !item.is_store() && walks(item.loop);
  }

  // Into the first phase that takes it: from `wish` on, else from where it can be.
  void place(ItemId id, std::size_t wish) {
    const std::size_t first = first_phase(id);
    if (place_within(id, std::max(first, wish), nests_.phases.size())) return;
    if (place_within(id, first, wish)) return;
    nests_.phases.push_back({add_node({}), is_serial(nests_[id]), 0});
    support::check(fits(id, nests_.phases.size() - 1), "an item does not fit into an empty phase");
  }

  static bool is_serial(const Item &item) {
    return item.path.empty() || item.path.front().chain.has_value();
  }

  bool place_within(ItemId id, std::size_t first, std::size_t last) {
    const bool serial = is_serial(nests_[id]);
    for (std::size_t phase = first; phase < last; ++phase)
      if (nests_.phases[phase].serial == serial &&
          nests_.phases[phase].items < most_items_in_a_phase && may_join(id, phase) &&
          fits(id, phase))
        return true;
    return false;
  }

  // Is there nothing in this phase from which `separate` keeps the item away? What is at hand in
  // one place only, an inner group of its own fold or a scan, it must follow.
  bool may_join(ItemId id, std::size_t phase) const {
    if (apart_.empty() && !alone_) return true;
    const Item &item = nests_[id];
    if (item.arg_item && item.loop.kind != LoopKind::Join) return true;
    for (ItemId need : item.needs)
      if (nests_[need].kind == ItemKind::Scan) return true;
    if (alone_) return false;
    for (std::uint32_t k = 0; k < nests_.items.size(); ++k)
      if (nests_.items[k].is_in(phase) && !apart_.may_meet(id, ItemId{k})) return false;
    return true;
  }

  // The child of `ancestor` through which `node` is reached, if it is below it.
  std::optional<TreeId> child_towards(TreeId ancestor, TreeId node) const {
    while (nests_[node].parent != ancestor) {
      if (!nests_[node].parent) return std::nullopt;
      node = *nests_[node].parent;
    }
    return node;
  }

  std::size_t position_of(TreeId parent, TreeId child) const {
    const auto &body = nests_[parent].body;
    for (std::size_t k = 0; k < body.size(); ++k)
      if (body[k].kind == Entry::Kind::Loop && body[k].loop == child) return k;
    support::bug("a loop is not in its parent's body");
  }

  // A store goes into the loop of a scan that it needs, the latest if it can, and else after all of
  // them. Of scans without lanes it goes after them if it can: there it has lanes.
  bool fits(ItemId id, std::size_t phase) {
    std::vector<TreeId> scans;
    bool lanes = true;
    if (nests_[id].is_store())
      for (ItemId need : nests_[id].needs) {
        const Item &scan = nests_[need];
        if (scan.kind != ItemKind::Scan || !scan.is_in(phase)) continue;
        scans.push_back(scan.place->loop);
        lanes = lanes && (scan.loop.vector || std::ranges::any_of(scan.path, &LoopKey::vector));
      }
    std::ranges::sort(scans, std::greater());
    return (!lanes && fits(id, phase, std::nullopt)) ||
           std::ranges::any_of(scans, [&](TreeId scan) { return fits(id, phase, scan); }) ||
           fits(id, phase, std::nullopt);
  }

  bool fits(ItemId id, std::size_t phase, std::optional<TreeId> inside) {
    const Item &item = nests_[id];
    const bool store = item.is_store();
    for (ItemId need : item.needs)
      if (nests_[need].kind == ItemKind::Scan && nests_[need].is_in(phase) &&
          nests_[need].place->loop != inside && !reads_row(item, need))
        return false;
    TreeId at = nests_.phases[phase].root;
    bool has_vector = false;
    std::size_t depth = 0, earliest = 0;
    for (;; ++depth) {
      std::optional<TreeId> forced;
      earliest = 0;
      for (ItemId need : item.needs) {
        const Item &fold = nests_[need];
        if (!fold.is_in(phase)) continue;
        const auto &[phase_of_fold, body, loop] = *fold.place;
        const bool scan = fold.kind == ItemKind::Scan && loop == inside;
        if (scan && at == loop) {
          earliest = nests_[at].body.size();
          continue;
        }
        if (!scan && body == at) {
          earliest = std::max(earliest, position_of(at, loop) + 1);
          continue;
        }
        if (!scan && child_towards(body, at)) continue; // further out: the way led past it
        const std::optional<TreeId> child = child_towards(at, scan ? loop : body);
        if (!child || (forced && forced != child)) return false;
        forced = child;
      }
      if (forced && position_of(at, *forced) < earliest) return false;
      if (depth == item.path.size()) {
        if (!forced) break;
        // The needed fold lies deeper: right where it lies in this item's own loop (a chain of
        // groups).
        if (store || !takes(*forced, item)) return false;
        settle(id, phase, at, position_of(at, *forced));
        return true;
      }
      LoopKey want = item.path[depth];
      if (forced) {
        const LoopKey &key = nests_[*forced].key;
        if (key.kind != want.kind || key.group != want.group) return false;
        if (!chooses_vector(item) && key.vector != want.vector) return false;
        if (key.scan && key.vector && depth + 1 < item.path.size()) return false; // no loops inside
        // The rows of a chunk come one after another.
        if (item.kind == ItemKind::Partial && key.vector && want.kind == LoopKind::Within)
          return false;
        has_vector = has_vector || key.vector;
        at = *forced;
        continue;
      }
      if (chooses_vector(item)) want.vector = depth + 1 == item.path.size() && !has_vector;
      const std::optional<TreeId> child = find_loop(at, want, earliest);
      if (!child) {
        if (is_full(at) || shares_panels_alone(at, want)) return false;
        break;
      }
      has_vector = has_vector || nests_[*child].key.vector;
      at = *child;
    }
    // From here on nothing can fail but the fold's own loop, which needs room beside others at a
    // root.
    if (depth == item.path.size() && !store && is_full(at) && !find_fold_loop(at, item, earliest))
      return false;
    for (; depth < item.path.size(); ++depth) {
      LoopKey key = item.path[depth];
      if (chooses_vector(item)) key.vector = depth + 1 == item.path.size() && !has_vector;
      at = add_loop(at, key);
      earliest = 0;
    }
    settle(id, phase, at, earliest);
    return true;
  }

  // A store has its lanes along its innermost loop, if it has no others: but not along short rows.
  static bool chooses_vector(const Item &item) {
    return item.is_store() && (item.path.empty() || item.path.back().turns == 0);
  }

  // Other rows beside those that read a panel: its chunks alone would be shared out among threads.
  bool shares_panels_alone(TreeId at, const LoopKey &rows) const {
    const bool other = rows.kind == LoopKind::Plain ||
                       (rows.kind == LoopKind::Chunks && rows.group != nests_[at].key.group);
    return nests_[at].key.kind == LoopKind::Chunks && other && !nests_[at].body.empty();
  }

  // A parallel phase has one loop at its root.
  bool is_full(TreeId at) const {
    for (const PhaseTree &phase : nests_.phases)
      if (phase.root == at && !phase.serial) return !nests_[at].body.empty();
    return false;
  }

  std::optional<TreeId> find_loop(TreeId at, const LoopKey &key, std::size_t earliest) const {
    const auto &body = nests_[at].body;
    for (std::size_t k = earliest; k < body.size(); ++k)
      if (body[k].kind == Entry::Kind::Loop && nests_[body[k].loop].key == key) return body[k].loop;
    return std::nullopt;
  }

  std::optional<TreeId> find_fold_loop(TreeId at, const Item &item, std::size_t earliest) const {
    const auto &body = nests_[at].body;
    for (std::size_t k = earliest; k < body.size(); ++k)
      if (body[k].kind == Entry::Kind::Loop && takes(body[k].loop, item)) return body[k].loop;
    return std::nullopt;
  }

  // Whether a loop can carry this fold. An exact fold (leaf 0) takes any leaves; others must agree.
  bool takes(TreeId loop, const Item &item) const {
    const TreeNode &node = nests_[loop];
    if (node.key != item.loop) return false;
    if (item.leaf == in_order) return node.folds.empty() || node.leaf == in_order;
    return node.leaf == item.leaf || (node.leaf != in_order && (node.leaf == 0 || item.leaf == 0));
  }

  TreeId add_node(TreeNode node) {
    nests_.tree.push_back(std::move(node));
    return {std::uint32_t(nests_.tree.size() - 1)};
  }

  TreeId add_loop(TreeId at, const LoopKey &key) {
    return add_loop(at, key, nests_[at].body.size());
  }
  TreeId add_loop(TreeId at, const LoopKey &key, std::size_t position) {
    const TreeId child = add_node({key, at, {}, {}, 0});
    auto &body = nests_[at].body;
    body.insert(body.begin() + std::ptrdiff_t(position), {Entry::Kind::Loop, child, {}});
    return child;
  }

  void settle(ItemId id, std::size_t phase, TreeId at, std::size_t earliest) {
    Item &item = nests_[id];
    item.place = {phase, at, {}};
    ++nests_.phases[phase].items;
    for (ItemId need : item.needs)
      if (nests_[need].kind == ItemKind::Scan && nests_[need].is_in(phase) &&
          nests_[need].place->loop != at && in_rows_.insert(need).second)
        row_bytes_[nests_[need].place->body] += row_bytes_of(nests_[need]);
    if (item.is_store()) {
      nests_[at].body.push_back({Entry::Kind::Set, {}, id});
      if (item.kind == ItemKind::Partial) clear(id, at);
      return;
    }
    const std::optional<TreeId> known = find_fold_loop(at, item, earliest);
    item.place->loop = known ? *known : add_loop(at, item.loop);
    TreeNode &node = nests_[item.place->loop];
    node.leaf = item.leaf == in_order ? in_order : std::max(node.leaf, item.leaf);
    node.folds.push_back(id);
    node.body.push_back({Entry::Kind::Step, {}, id});
  }

  // The states of a Partial start anew before the loop over the rows of each chunk.
  void clear(ItemId id, TreeId body) {
    const Item &item = nests_[id];
    std::vector<LoopKey> inside;
    while (nests_[body].key.kind != LoopKind::Within || nests_[body].key.group != item.loop.group) {
      inside.push_back(nests_[body].key);
      body = *nests_[body].parent;
    }
    TreeId at = *nests_[body].parent;
    std::size_t limit = position_of(at, body);
    for (auto key = inside.rbegin(); key != inside.rend(); ++key) {
      const std::optional<TreeId> known = find_loop(at, *key, 0);
      const bool before = known && position_of(at, *known) < limit;
      at = before ? *known : add_loop(at, *key, limit);
      limit = nests_[at].body.size();
    }
    nests_[at].body.push_back({Entry::Kind::Clear, {}, id});
  }

  // A result read in another phase goes through memory.
  void hand_over(Item &fold, const Item &user) {
    if (fold.is_in(user.place->phase) || fold.scratch) return;
    fold.scratch = nests_.scratch_count;
    nests_.scratch_count += std::uint32_t(nests_.recipes[fold.recipe].states.size());
  }

  const Resolved &resolved_;
  Nests &nests_;
  const Pairs &pairs_;
  const Apart apart_;
  const bool alone_;
  std::set<ItemId> in_rows_;           // scans that are read in rows
  std::map<TreeId, double> row_bytes_; // [body]: of their rows
};

} // namespace

void place_items(const Resolved &resolved, Nests &nests, const Pairs &pairs, bool alone) {
  Placer(resolved, nests, pairs, alone).run();
}

} // namespace broadloom::plan
