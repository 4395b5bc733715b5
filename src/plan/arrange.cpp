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
#include "plan/arranger.hpp"
#include "plan/pairing.hpp"
#include "plan/place.hpp"
#include "plan/rows.hpp"
#include "plan/wishes.hpp"
#include "support/reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace broadloom::plan {

using support::decide;
using support::Reason;

Nests Arranger::run() {
  nests_.item_of_fold.assign(request_.spec.graph.size(), -1);
  nests_.order = trees_.order();
  nests_.by_stride = trees_.by_stride();
  if (nests_.why.wanted) nests_.why.decisions = trees_.explain();
  std::vector<NodeId> folds;
  for (std::uint32_t n = 0; n < request_.spec.graph.size(); ++n)
    if (trees_.needed(NodeId{n}) && is_fold(NodeId{n})) folds.push_back(NodeId{n});
  nests_.item_of_held.assign(request_.spec.graph.size(), -1);
  for (NodeId fold : folds) note_chunks(fold);
  for (NodeId fold : folds) note_sweep(fold);
  for (NodeId fold : folds) note_short_rows(fold);
  // Where there are folds, stores may share their loops.
  for (std::size_t k = 0; k < request_.spec.outputs.size() && folds.empty(); ++k)
    if (request_.wanted[k]) {
      note_tile(int(k));
      note_short_rows(int(k));
    }
  add_repeated();
  hold_values(folds);
  for (NodeId fold : folds) {
    add_holds_below(fold);
    const bool scan = request_.spec.graph[fold].kind == NodeKind::Scan;
    const bool ordered = !request_.spec.graph.recipe(fold).has_combine();
    scan ? add_scan(fold) : ordered ? add_ordered_fold(fold) : add_fold(fold);
    nests_.items[nests_.item_of_fold[fold.index]].read |= std::uint64_t(1)
                                                          << request_.spec.graph[fold].payload;
  }
  add_holds_below(NodeId{std::uint32_t(request_.spec.graph.size())});
  for (std::size_t k = 0; k < request_.spec.outputs.size(); ++k)
    if (request_.wanted[k]) add_store(int(k));
  nests_.apart = paired_outputs(request_, false);
  nests_.together = paired_outputs(request_, true);
  note_paired_items(request_, trees_, nests_);
  place_items(nests_);
  note_pairings(request_.spec, trees_, nests_);
  choose_rows(request_, trees_, nests_);
  return std::move(nests_);
}

bool Arranger::asks_for_lanes(const Group &group) const {
  return request_.spec.wishes.vector && std::ranges::any_of(group, [&](int c) {
           return request_.resolved.classes[std::size_t(c)].axis == *request_.spec.wishes.vector;
         });
}

bool Arranger::is_cut(const std::vector<Group> &prefix) const {
  return std::find(cut_.begin(), cut_.end(), prefix) != cut_.end();
}

// The chunks of a sweep are single leaves of its own, less than one of a fold in lanes or a block of a scan: those run uncut
// beside it, as their trees must not depend on who else walks the axis.
bool Arranger::is_cut_for(const std::vector<Group> &prefix, std::int64_t leaf) const {
  const bool swept = std::count(nests_.swept.begin(), nests_.swept.end(), prefix.back()) > 0;
  return is_cut(prefix) && (!swept || leaf <= steps_per_leaf);
}

void Arranger::note_chunks(NodeId fold) {
  if (!request_.spec.graph.recipe(fold).has_combine()) return;
  const bool scan = request_.spec.graph[fold].kind == NodeKind::Scan;
  const Tree tree = trees_.tree_of(fold);
  double kept = 1, folded = 1;
  for (const Group &g : tree.kept) kept *= double(group_extent(request_.resolved, g));
  for (const Group &g : tree.folded) folded *= double(group_extent(request_.resolved, g));
  const bool too_little_kept =
      kept < few_kept && folded >= fewest_folded && kept * folded >= fewest_in_chunks;
  const std::int64_t leaf = scan                     ? scan_block
                            : tree.folded.size() > 1 ? 1
                            : tree.lanes             ? steps_per_leaf * loop::fold_lanes
                                                     : steps_per_leaf;
  const bool asked = asks_for_threads(request_, tree.folded.front()) &&
                     kept <= most_kept_in_chunks &&
                     group_extent(request_.resolved, tree.folded.front()) > leaf;
  if ((!tree.kept.empty() || scan) && !too_little_kept && !asked) return;
  std::vector<Group> prefix = tree.kept;
  prefix.push_back(tree.folded.front());
  std::int64_t &least = least_chunk_[prefix.back()];
  least = std::max(least, leaf);
  if (is_cut(prefix)) return;
  const bool none = tree.kept.empty(), few = too_little_kept;
  nests_.why.add([&] {
    return decide(
        none  ? Reason::NoAxisKept
        : few ? Reason::FewPositionsKept
              : Reason::ChunksAsked,
        group_name(request_.resolved, prefix.back()), "in chunks",
        fmt::format("{} is folded in chunks that run in parallel and are joined at the end: {}",
                    group_name(request_.resolved, prefix.back()),
                    none  ? "no axis is kept"
                    : few ? "few positions are kept"
                          : "the schedule asks for it"),
        {{"uncut", none || few
                       ? fmt::format("{:.3g} kept positions cannot occupy the threads", kept)
                       : "the kept positions would be shared out alone"}});
  });
  cut_.push_back(std::move(prefix));
}

void Arranger::note_sweep(NodeId fold) {
  const ops::Recipe &recipe = request_.spec.graph.recipe(fold);
  if (request_.spec.graph[fold].kind != NodeKind::Fold || !recipe.has_combine() ||
      !request_.spec.graph.start_args(fold).empty())
    return;
  const Tree tree = trees_.tree_of(fold);
  if (tree.folded.size() != 1 || tree.lanes || tree.kept.empty()) return;
  for (NodeId inner :
       trees_.folds_in(request_.spec.graph.folded_args(fold))) // a scan has loops of its own
    if (request_.spec.graph[inner].kind == NodeKind::Scan) return;
  std::vector<int> classes = trees_.classes_of(fold);
  classes.insert(classes.end(), tree.folded[0].begin(), tree.folded[0].end());
  const std::vector<Group> nest = trees_.kept_groups(classes);
  const auto at = std::find(nest.begin(), nest.end(), tree.folded[0]);
  if (at == nest.end() || at + 1 == nest.end() || nest.back() != tree.kept.back()) return;

  double outer = 1, row = 1, bytes = 0;
  for (auto group = nest.begin(); group != at; ++group)
    outer *= double(group_extent(request_.resolved, *group));
  for (auto group = at + 1; group != nest.end(); ++group)
    row *= double(group_extent(request_.resolved, *group));
  for (DType state : recipe.states) bytes += row * double(size_of(state));
  const double chunks =
      std::ceil(double(group_extent(request_.resolved, *at)) / double(steps_per_leaf));
  // Row by row is the way to read an array that has all these axes, once; what is read again and again, as in
  // products of matrices, is in the caches anyway, and the states are better off in registers.
  const std::string along = group_name(request_.resolved, *at);
  const auto in_registers = [&](Reason reason, const std::string &because) {
    nests_.why.add([&] {
      return decide(
          reason, along, "states in registers",
          fmt::format("{} over {} keeps its states in registers: {}", recipe.name, along, because),
          {{"a row of states in memory", because, {.bytes = bytes}}});
    });
  };
  if (group_extent(request_.resolved, nest.back()) < shortest_line)
    return in_registers(Reason::ShortRows, "the rows are short");
  if (bytes > most_state_bytes)
    return in_registers(Reason::StatesExceedCache, "a row of states would leave the caches");
  if (outer * chunks < fewest_chunks_of_rows * machine_.threads)
    return in_registers(Reason::TooFewRows, "there are too few chunks of rows for the threads");
  if (trees_.inputs_over(classes, request_.spec.graph.folded_args(fold)).empty())
    return in_registers(Reason::ReadRepeatedly,
                        "no operand has all axes, so all of them are read many times");
  const auto cut = least_chunk_.find(*at);
  if (cut != least_chunk_.end() && cut->second > steps_per_leaf) return;
  least_chunk_[*at] = steps_per_leaf;
  nests_.swept.push_back(*at);
  std::vector<Group> prefix(nest.begin(), at + 1);
  if (!is_cut(prefix)) cut_.push_back(std::move(prefix));
  nests_.why.add([&] {
    return decide(
        Reason::RowsAsTheyLie, along, "row by row",
        fmt::format("{} over {} goes row by row: each {} rows have a row of states in memory "
                    "({:.3g} bytes), and those are joined at the end",
                    recipe.name, along, steps_per_leaf, bytes),
        {{"states in registers",
          "reads its operands in steps of a row, and in a sweep of its own"}},
        {.bytes = 2 * bytes * outer * chunks});
  });
  swept_.emplace(fold.index, nest);
}

// What else goes along the rows, an output or a scan, has its lanes along them: then the fold has, too.
void Arranger::note_short_rows(NodeId fold) {
  const Tree tree = trees_.tree_of(fold);
  if (request_.spec.graph[fold].kind != NodeKind::Fold || !tree.lanes || tree.kept.empty() ||
      !request_.spec.graph.recipe(fold).has_combine() ||
      !request_.spec.graph.start_args(fold).empty())
    return;
  const Group &row = tree.folded.back();
  const std::int64_t turns = group_extent(request_.resolved, row);
  double rows = 1;
  for (const Group &group : tree.kept) rows *= double(group_extent(request_.resolved, group));
  const bool few = rows < double(fewest_short_rows) ||
                   group_extent(request_.resolved, tree.kept.back()) < shortest_line;
  if (turns < 2 || turns > longest_short_row || asks_for_lanes(row) ||
      (few && !asks_for_lanes(tree.kept.back())))
    return;
  const auto goes_along = [&](const std::vector<int> &classes) {
    return std::any_of(row.begin(), row.end(),
                       [&](int c) { return std::count(classes.begin(), classes.end(), c) > 0; });
  };
  std::vector<Group> nest = tree.kept;
  nest.push_back(row);
  for (std::size_t k = 0; k < request_.spec.outputs.size(); ++k) {
    if (!request_.wanted[k]) continue;
    const std::vector<Group> loops = trees_.kept_groups(output_classes(int(k)));
    if (loops == nest) continue;
    if (goes_along(output_classes(int(k)))) return;
    if (std::count(loops.begin(), loops.end(), tree.kept.back()) > 0 &&
        loops.back() != tree.kept.back())
      return;
  }
  for (std::uint32_t n = 0; n < request_.spec.graph.size(); ++n)
    if (trees_.needed(NodeId{n}) && request_.spec.graph[NodeId{n}].kind == NodeKind::Scan &&
        goes_along(trees_.classes_of(NodeId{n})))
      return;
  short_rows_.emplace(fold.index, std::move(nest));
  nests_.why.add([&] {
    const std::string along = group_name(request_.resolved, row),
                      lanes = group_name(request_.resolved, tree.kept.back());
    return decide(
        Reason::ShortRowsTogether, request_.spec.graph.recipe(fold).name + " over " + along,
        "lanes along " + lanes,
        fmt::format("{} is the vector axis, not {}, which has {} positions only: each "
                    "lane folds a row",
                    lanes, along, turns),
        {{"lanes along " + along, "most of them would be idle, and joined for each row"}});
  });
}

std::vector<LoopKey> Arranger::path_of(const std::vector<Group> &groups) const {
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

std::vector<int> Arranger::needs_of(std::span<const NodeId> roots, std::size_t use) const {
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
      for (NodeId arg : request_.spec.graph.operands(id)) work.push_back(arg);
  }
  return needs;
}

std::string Arranger::state_names(const ops::Recipe &recipe) {
  std::string text;
  for (DType state : recipe.states) text += (text.empty() ? "" : ", ") + std::string(name(state));
  return text;
}

void Arranger::make_vector(std::vector<LoopKey> &path, const Group &group) {
  for (LoopKey &key : path)
    if (key.group == group && key.kind != LoopKind::Chunks) key.vector = true;
}

int Arranger::add_item(const Item &item) {
  std::string key = fmt::format("{} {} {} {} {} {}", int(item.kind), item.recipe, item.leaf,
                                item.exclusive, item.arg_item, item.carried_item);
  for (NodeId arg : item.args) key += fmt::format(" {}", arg.index);
  for (NodeId start : item.start) key += fmt::format(" ={}", start.index);
  const auto add_loop = [&](const LoopKey &loop) {
    key += fmt::format("|{}{}{}{} {} {}:", int(loop.kind), loop.vector, loop.scan, loop.reverse,
                       loop.chain, loop.turns);
    for (int c : loop.group) key += fmt::format(" {}", c);
  };
  for (const LoopKey &loop : item.path) add_loop(loop);
  key += "#";
  add_loop(item.loop);
  const auto [found, fresh] = known_.try_emplace(key, int(nests_.items.size()));
  if (fresh) nests_.items.push_back(item);
  return found->second;
}

void Arranger::explain_fold(NodeId fold, const Tree &tree) {
  if (!nests_.why.wanted) return;
  const ops::Recipe &recipe = request_.spec.graph.recipe(fold);
  std::string folded, kept;
  for (const Group &g : tree.folded)
    folded += (folded.empty() ? "" : ", ") + group_name(request_.resolved, g);
  for (const Group &g : tree.kept)
    kept += (kept.empty() ? "" : ", ") + group_name(request_.resolved, g);
  const std::string lanes =
      tree.lanes
          ? fmt::format("32 lanes along {}", group_name(request_.resolved, tree.folded.back()))
      : tree.kept.empty() ? "one lane"
                          : fmt::format("one lane for each element of {}, which is the vector axis",
                                        group_name(request_.resolved, tree.kept.back()));
  const Reason reason = !recipe.has_combine() ? Reason::FoldWithoutCombine
                        : recipe.exact        ? Reason::ExactFold
                        : !recipe.commutes    ? Reason::LogicalOrder
                                              : Reason::PairwiseLeaves;
  const std::string how =
      reason == Reason::FoldWithoutCombine
          ? "serial and in logical order, because it has no combine"
      : reason == Reason::ExactFold ? "in any order (exact)"
      : reason == Reason::LogicalOrder
          ? "in logical order, because its combine may not be symmetric: leaves of 128 steps "
            "joined pairwise"
          : "leaves of 128 steps joined pairwise";
  nests_.why.add([&] {
    return decide(reason, fmt::format("{} over {}", recipe.name, folded),
                  tree.lanes ? "32 lanes" : "one lane",
                  fmt::format("{} over {} in {}: {}, {}", recipe.name, folded, state_names(recipe),
                              lanes, how));
  });
}

Nests arrange(const Request &request, const Machine &machine) {
  return Arranger(request, machine).run();
}

} // namespace broadloom::plan
