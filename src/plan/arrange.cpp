// Orders the work: folds become chains of items, items find their loops, loops gather in phases.
//
// 1. Each fold has a tree (trees.hpp). One group of folded axes gives one item; several give a chain,
//    inner first, each item folding the results of the one below. 32 lanes where the fold's innermost
//    axis is folded (the lanes walk it), else one lane, with the vector along the innermost kept axis.
//    An ordered fold is a chain, too, in which each inner loop goes on from the running states of the
//    outer one. A scan is one item, or three where its blocks run in parallel.
// 2. A fold that keeps nothing, or too little for all threads, is cut into chunks: the chunks run in
//    parallel, and a last item joins their results.
// 3. Items are placed one by one into the first phase that has their loops (place.cpp).
#include "plan/hold.hpp"
#include "plan/pairing.hpp"
#include "plan/place.hpp"
#include "plan/trees.hpp"

#include "support/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

namespace broadloom::plan {
namespace {

using expr::NodeId;
using expr::NodeKind;

constexpr std::int64_t steps_per_leaf = 128;
constexpr std::int64_t shortest_line = 64; // positions; shorter ones make poor use of cache lines

class Arranger {
public:
  Arranger(const spec::TypedSpec &spec, const Resolved &resolved, const Walks &walks,
           const std::vector<bool> &wanted, const Machine &machine)
      : spec_(spec), resolved_(resolved), wanted_(wanted), machine_(machine),
        trees_(spec, resolved, walks, wanted) {}

  Nests run() {
    nests_.item_of_fold.assign(spec_.graph.size(), -1);
    nests_.order = trees_.order();
    nests_.why = trees_.explain();
    std::vector<NodeId> folds;
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n)
      if (trees_.needed(NodeId{n}) && is_fold(NodeId{n})) folds.push_back(NodeId{n});
    nests_.item_of_held.assign(spec_.graph.size(), -1);
    for (NodeId fold : folds) note_chunks(fold);
    hold_values(folds);
    for (NodeId fold : folds) {
      add_holds_below(fold);
      const bool scan = spec_.graph[fold].kind == NodeKind::Scan;
      const bool ordered = !spec_.graph.recipe(fold).has_combine();
      scan ? add_scan(fold) : ordered ? add_ordered_fold(fold) : add_fold(fold);
      nests_.items[nests_.item_of_fold[fold.index]].read |= std::uint64_t(1)
                                                            << spec_.graph[fold].payload;
    }
    add_holds_below(NodeId{std::uint32_t(spec_.graph.size())});
    for (std::size_t k = 0; k < spec_.outputs.size(); ++k)
      if (wanted_[k]) add_store(int(k));
    nests_.apart = paired_outputs(spec_, wanted_, false);
    nests_.together = paired_outputs(spec_, wanted_, true);
    place_items(nests_);
    note_pairings(spec_, nests_);
    return std::move(nests_);
  }

private:
  using Tree = Trees::Tree;
  bool is_fold(NodeId id) const { return trees_.is_fold(id); }

  // ------------------------------------------------------------------ paths

  // Paths that begin with these groups have their last one cut into chunks.
  bool is_cut(const std::vector<Group> &prefix) const {
    return std::find(cut_.begin(), cut_.end(), prefix) != cut_.end();
  }

  void note_chunks(NodeId fold) {
    if (!spec_.graph.recipe(fold).has_combine()) return;
    const bool scan = spec_.graph[fold].kind == NodeKind::Scan;
    const Tree tree = trees_.tree_of(fold);
    double kept = 1, folded = 1;
    for (const Group &g : tree.kept) kept *= double(group_extent(resolved_, g));
    for (const Group &g : tree.folded) folded *= double(group_extent(resolved_, g));
    const bool too_little_kept = kept < 32 && folded >= 32 * 1024 && kept * folded >= 256 * 1024;
    if ((!tree.kept.empty() || scan) && !too_little_kept) return;
    std::vector<Group> prefix = tree.kept;
    prefix.push_back(tree.folded.front());
    if (is_cut(prefix)) return;
    nests_.why.push_back(
        {"chunks", fmt::format("{} is folded in chunks that run in parallel and are joined at "
                               "the end: {}",
                               group_name(resolved_, prefix.back()),
                               tree.kept.empty() ? "no axis is kept" : "few positions are kept")});
    cut_.push_back(std::move(prefix));
  }

  std::vector<LoopKey> path_of(const std::vector<Group> &groups) const {
    std::vector<LoopKey> path;
    std::vector<Group> prefix;
    for (const Group &group : groups) {
      prefix.push_back(group);
      if (is_cut(prefix)) {
        path.push_back({LoopKind::Chunks, group, false});
        path.push_back({LoopKind::Within, group, false});
      } else {
        path.push_back({LoopKind::Plain, group, false});
      }
    }
    return path;
  }

  // ------------------------------------------------------------------ held values

  // Uses in the order of the folds, then of the wanted outputs.
  void hold_values(const std::vector<NodeId> &folds) {
    std::vector<Use> uses;
    for (NodeId fold : folds) {
      const auto args = spec_.graph.args(fold);
      const Tree tree = trees_.tree_of(fold);
      use_of_fold_.emplace(fold.index, uses.size());
      uses.push_back({{args.begin(), args.end()}, tree.kept});
      for (const Group &group : tree.folded) uses.back().loops.push_back(group);
    }
    for (std::size_t k = 0; k < spec_.outputs.size(); ++k) {
      use_of_output_.push_back(uses.size());
      if (wanted_[k])
        uses.push_back({{spec_.outputs[k].addend}, trees_.kept_groups(output_classes(int(k)))});
    }
    for (Held &held : choose_held(spec_, resolved_, trees_, uses, machine_))
      if (can_be_walked(held, uses)) held_.push_back(std::move(held));
  }

  // The array lies as its own loops go; loops that merge axes must find them merged in it.
  bool can_be_walked(const Held &held, const std::vector<Use> &uses) const {
    std::vector<int> classes;
    for (const Group &group : trees_.kept_groups(trees_.classes_of(held.value)))
      classes.insert(classes.end(), group.begin(), group.end());
    const auto place = [&](int c) { return std::find(classes.begin(), classes.end(), c); };
    for (const Use &use : uses)
      for (const Group &group : use.loops)
        for (std::size_t k = 1; k < group.size(); ++k) {
          const bool outer = place(group[k - 1]) != classes.end(),
                     inner = place(group[k]) != classes.end();
          if (outer != inner || (outer && place(group[k - 1]) + 1 != place(group[k]))) return false;
        }
    return true;
  }

  // Before the first fold that may read them, and after those that they read.
  void add_holds_below(NodeId limit) {
    for (; next_held_ < held_.size() && held_[next_held_].value < limit; ++next_held_) {
      const Held &held = held_[next_held_];
      Item item;
      item.kind = ItemKind::Hold;
      item.value = held.value;
      item.needs = needs_of({&held.value, 1});
      item.path = path_of(trees_.kept_groups(trees_.classes_of(held.value)));
      item.scratch = nests_.scratch_count++;
      nests_.item_of_held[held.value.index] = int(nests_.items.size());
      nests_.items.push_back(std::move(item));
      nests_.why.push_back({"hold", held.why});
    }
  }

  bool waits(std::size_t use, NodeId value) const {
    return use != no_use && std::any_of(held_.begin(), held_.end(), [&](const Held &held) {
             return held.value == value && held.waits[use];
           });
  }

  std::vector<int> output_classes(int output) const {
    std::vector<int> classes;
    for (int c : resolved_.output_classes[output])
      if (c != one) classes.push_back(c);
    return classes;
  }

  // ------------------------------------------------------------------ items

  static constexpr std::size_t no_use = ~std::size_t(0);

  // The folds whose results these values are made of, and the held values for which the use waits.
  std::vector<int> needs_of(std::span<const NodeId> roots, std::size_t use = no_use) const {
    std::vector<int> needs;
    std::vector<NodeId> work(roots.begin(), roots.end());
    std::unordered_set<std::uint32_t> seen;
    while (!work.empty()) {
      const NodeId id = work.back();
      work.pop_back();
      if (!seen.insert(id.index).second) continue;
      if (waits(use, id))
        needs.push_back(nests_.item_of_held[id.index]);
      else if (is_fold(id))
        needs.push_back(nests_.item_of_fold[id.index]);
      else
        for (NodeId arg : spec_.graph.operands(id)) work.push_back(arg);
    }
    return needs;
  }

  // An item that accumulates the values of graph nodes.
  Item first_item(NodeId fold) {
    Item item;
    const auto args = spec_.graph.folded_args(fold), start = spec_.graph.start_args(fold);
    item.kind = ItemKind::Fold;
    item.recipe = ops::intern(nests_.recipes, spec_.graph.recipe(fold));
    item.args.assign(args.begin(), args.end());
    item.start.assign(start.begin(), start.end());
    item.needs = needs_of(spec_.graph.args(fold), use_of_fold_.at(fold.index));
    return item;
  }

  void add_fold(NodeId fold) {
    const ops::Recipe &recipe = spec_.graph.recipe(fold);
    const Tree tree = trees_.tree_of(fold);
    int below = -1;
    for (std::size_t k = tree.folded.size(); k-- > 0;) {
      const bool innermost = k + 1 == tree.folded.size();
      Item item = innermost ? first_item(fold) : joining(below, recipe);
      item.leaf = recipe.exact ? 0
                  : !innermost ? 1
                  : tree.lanes ? steps_per_leaf * loop::fold_lanes
                               : steps_per_leaf;
      std::vector<Group> around = tree.kept;
      around.insert(around.end(), tree.folded.begin(), tree.folded.begin() + k);
      item.path = path_of(around);
      if (!tree.lanes && !tree.kept.empty()) make_vector(item.path, tree.kept.back());
      around.push_back(tree.folded[k]);
      const bool cut = is_cut(around);
      item.loop.kind = cut ? LoopKind::Within : LoopKind::Plain;
      item.loop.group = tree.folded[k];
      item.loop.vector = innermost && tree.lanes;
      if (cut) item.path.push_back({LoopKind::Chunks, tree.folded[k]});
      below = add_item(item);
      if (cut) {
        Item join = joining(below, recipe);
        join.path = item.path;
        join.path.pop_back();
        join.loop = {LoopKind::Join, tree.folded[k]};
        join.leaf = recipe.exact ? 0 : 1;
        below = add_item(join);
      }
    }
    nests_.item_of_fold[fold.index] = below;
    explain_fold(fold, tree);
  }

  // An item that accumulates the states of another one.
  Item joining(int below, const ops::Recipe &recipe) {
    Item item;
    item.kind = ItemKind::Fold;
    item.recipe = ops::intern(nests_.recipes, ops::joining(recipe));
    item.arg_item = below;
    item.needs = {below};
    return item;
  }

  // Without a combine the states step through the folded axes in logical order. Of several groups the
  // inner loop starts from the running states of the outer one, which then takes over its result.
  void add_ordered_fold(NodeId fold) {
    const Tree tree = trees_.tree_of(fold);
    const int chain = chain_of(fold);
    int below = -1;
    for (std::size_t k = tree.folded.size(); k-- > 0;) {
      Item item = first_item(fold);
      item.leaf = in_order;
      item.loop.group = tree.folded[k];
      item.loop.chain = chain;
      item.path = path_of(tree.kept);
      if (!tree.kept.empty()) make_vector(item.path, tree.kept.back());
      for (std::size_t outer = 0; outer < k; ++outer)
        item.path.push_back({LoopKind::Plain, tree.folded[outer], false, false, false, chain});
      if (below >= 0) {
        item.args.clear();
        item.arg_item = below;
        item.recipe = ops::intern(nests_.recipes, handing_on(spec_.graph.recipe(fold)));
        item.needs.push_back(below);
      }
      const int above = add_item(item);
      if (below >= 0) nests_.items[below].start_item = above;
      below = above;
    }
    nests_.item_of_fold[fold.index] = below;
    explain_fold(fold, tree);
  }

  // The states of one accumulator make one chain.
  int chain_of(NodeId fold) {
    const auto args = spec_.graph.args(fold);
    std::vector<std::uint32_t> key{spec_.graph[fold].recipe.index,
                                   std::uint32_t(spec_.graph[fold].folded.bits()),
                                   std::uint32_t(spec_.graph[fold].folded.bits() >> 32)};
    for (NodeId arg : args) key.push_back(arg.index);
    return chains_.try_emplace(std::move(key), int(chains_.size()) + 1).first->second;
  }

  // The states are replaced by the arguments.
  static ops::Recipe handing_on(const ops::Recipe &recipe) {
    ops::Recipe taker = recipe;
    const auto count = std::uint32_t(recipe.states.size());
    taker.args = recipe.states;
    taker.step = {int(2 * count), {}, {}};
    for (std::uint32_t k = 0; k < count; ++k) taker.step.results.push_back(count + k);
    return taker;
  }

  // The scanned axis is the innermost loop, in blocks. Where it is cut, the chunks are the blocks: first
  // the total of each chunk, then what each chunk starts from, then the scan itself.
  void add_scan(NodeId scan) {
    const expr::Node &node = spec_.graph[scan];
    const ops::Recipe &recipe = spec_.graph.recipe(scan);
    const Tree tree = trees_.tree_of(scan);
    const Group &along = tree.folded.front();
    Item item = first_item(scan);
    item.kind = ItemKind::Scan;
    item.exclusive = node.exclusive;
    item.leaf = recipe.has_combine() ? scan_block : in_order;
    item.path = path_of(tree.kept);
    if (!tree.kept.empty()) make_vector(item.path, tree.kept.back());
    item.loop = {LoopKind::Plain, along, false, true, node.reverse};
    std::vector<Group> around = tree.kept;
    around.push_back(along);
    if (recipe.has_combine() && is_cut(around)) {
      nests_.scanned.push_back(along);
      Item total = first_item(scan);
      total.leaf = in_order;
      total.path = item.path;
      total.path.push_back({LoopKind::Chunks, along});
      total.loop = {LoopKind::Within, along, false, false, node.reverse};
      const int totals = add_item(total);
      Item carry = joining(totals, recipe);
      carry.kind = ItemKind::Scan;
      carry.exclusive = true;
      carry.leaf = in_order;
      carry.path = item.path;
      carry.loop = {LoopKind::Join, along, false, true, node.reverse};
      const int carries = add_item(carry);
      nests_.items[carries].read = ~std::uint64_t(0);
      item.path.push_back({LoopKind::Chunks, along});
      item.loop.kind = LoopKind::Within;
      item.carried_item = carries;
      item.needs.push_back(carries);
    }
    nests_.item_of_fold[scan.index] = add_item(item);
    nests_.why.push_back(
        {"scan", fmt::format("{} along {} in {}: {}", recipe.name, group_name(resolved_, along),
                             state_names(recipe), scan_way(recipe, item.carried_item >= 0))});
  }

  static std::string scan_way(const ops::Recipe &recipe, bool in_chunks) {
    if (!recipe.has_combine()) return "in order, because it has no combine";
    return fmt::format("in blocks of {} positions, {}", scan_block,
                       in_chunks ? "which run in parallel after their totals have been scanned"
                                 : "one after another");
  }

  static std::string state_names(const ops::Recipe &recipe) {
    std::string text;
    for (DType state : recipe.states) text += (text.empty() ? "" : ", ") + std::string(name(state));
    return text;
  }

  static void make_vector(std::vector<LoopKey> &path, const Group &group) {
    for (LoopKey &key : path)
      if (key.group == group && key.kind != LoopKind::Chunks) key.vector = true;
  }

  // Equal items are one: the row sums inside a total and the row sums of an output, say.
  int add_item(const Item &item) {
    std::string key = fmt::format("{} {} {} {} {} {}", int(item.kind), item.recipe, item.leaf,
                                  item.exclusive, item.arg_item, item.carried_item);
    for (NodeId arg : item.args) key += fmt::format(" {}", arg.index);
    for (NodeId start : item.start) key += fmt::format(" ={}", start.index);
    const auto add_loop = [&](const LoopKey &loop) {
      key += fmt::format("|{}{}{}{} {}:", int(loop.kind), loop.vector, loop.scan, loop.reverse,
                         loop.chain);
      for (int c : loop.group) key += fmt::format(" {}", c);
    };
    for (const LoopKey &loop : item.path) add_loop(loop);
    key += "#";
    add_loop(item.loop);
    const auto [found, fresh] = known_.try_emplace(key, int(nests_.items.size()));
    if (fresh) nests_.items.push_back(item);
    return found->second;
  }

  void add_store(int output) {
    Item item;
    item.kind = ItemKind::Store;
    item.output = output;
    const std::vector<int> classes = output_classes(output);
    item.needs = needs_of({&spec_.outputs[output].addend, 1}, use_of_output_[std::size_t(output)]);
    item.path = path_of(store_groups(output, classes, item.needs));
    nests_.items.push_back(std::move(item));
  }

  // The loops of a store. One that reads a scan of its own axes may go inside the scan's loops; one that reads
  // the same data as a fold goes along with it, so that both come out of one sweep, where the fold's
  // innermost axis is the store's, too, and long enough to be walked in lines.
  std::vector<Group> store_groups(int output, const std::vector<int> &classes,
                                  const std::vector<int> &needs) {
    const std::vector<Group> own = trees_.kept_groups(classes);
    for (int need : needs)
      if (const Item &scan = nests_.items[need]; scan.kind == ItemKind::Scan)
        if (const auto groups = loops_over(scan, classes); !groups.empty()) return groups;
    if (own.size() < 2) return own;
    const std::vector<std::uint32_t> reads =
        trees_.inputs_over(classes, {&spec_.outputs[output].addend, 1});
    for (const Item &fold : nests_.items) {
      if (fold.kind != ItemKind::Fold || fold.args.empty() || fold.leaf == in_order) continue;
      const auto groups = loops_over(fold, classes);
      // What the fold walks as one the store may not, and the other way round.
      if (groups == own ||
          !std::is_permutation(groups.begin(), groups.end(), own.begin(), own.end()) ||
          groups.back() != own.back() || group_extent(resolved_, groups.back()) < shortest_line)
        continue;
      std::vector<std::uint32_t> both;
      std::ranges::set_intersection(reads, trees_.inputs_over(classes, fold.args),
                                    std::back_inserter(both));
      if (both.empty()) continue;
      nests_.why.push_back(
          {"sweeps", fmt::format("output '{}' goes along with the fold over {}: both read '{}'",
                                 spec_.outputs[output].name, group_name(resolved_, fold.loop.group),
                                 spec_.inputs[both.front()].name)});
      return groups;
    }
    return own;
  }

  // The loops of a fold or scan, if they are over just these classes.
  static std::vector<Group> loops_over(const Item &item, const std::vector<int> &classes) {
    std::vector<Group> groups;
    std::vector<int> covered;
    for (const LoopKey &key : item.path)
      if (key.kind == LoopKind::Plain || key.kind == LoopKind::Within) groups.push_back(key.group);
    groups.push_back(item.loop.group);
    for (const Group &group : groups) covered.insert(covered.end(), group.begin(), group.end());
    if (std::is_permutation(covered.begin(), covered.end(), classes.begin(), classes.end()))
      return groups;
    return {};
  }

  void explain_fold(NodeId fold, const Tree &tree) {
    const ops::Recipe &recipe = spec_.graph.recipe(fold);
    std::string folded, kept;
    for (const Group &g : tree.folded)
      folded += (folded.empty() ? "" : ", ") + group_name(resolved_, g);
    for (const Group &g : tree.kept) kept += (kept.empty() ? "" : ", ") + group_name(resolved_, g);
    const std::string lanes =
        tree.lanes ? fmt::format("32 lanes along {}", group_name(resolved_, tree.folded.back()))
        : tree.kept.empty()
            ? "one lane"
            : fmt::format("one lane for each element of {}, which is the vector axis",
                          group_name(resolved_, tree.kept.back()));
    const std::string how = !recipe.has_combine()
                                ? "serial and in logical order, because it has no combine"
                            : recipe.exact     ? "in any order (exact)"
                            : !recipe.commutes ? "in logical order, because its combine may not be "
                                                 "symmetric: leaves of 128 steps joined pairwise"
                                               : "leaves of 128 steps joined pairwise";
    nests_.why.push_back({"fold", fmt::format("{} over {} in {}: {}, {}", recipe.name, folded,
                                              state_names(recipe), lanes, how)});
  }

  const spec::TypedSpec &spec_;
  const Resolved &resolved_;
  const std::vector<bool> &wanted_;
  const Machine &machine_;
  Trees trees_;
  std::vector<Held> held_; // by value
  std::size_t next_held_ = 0;
  std::map<std::uint32_t, std::size_t> use_of_fold_; // places in the list of uses
  std::vector<std::size_t> use_of_output_;
  Nests nests_;
  std::vector<std::vector<Group>> cut_;
  std::map<std::string, int> known_;
  std::map<std::vector<std::uint32_t>, int> chains_;
};

} // namespace

Nests arrange(const spec::TypedSpec &spec, const Resolved &resolved, const Walks &walks,
              const std::vector<bool> &wanted, const Machine &machine) {
  return Arranger(spec, resolved, walks, wanted, machine).run();
}

} // namespace broadloom::plan
