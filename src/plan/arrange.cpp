// Orders the work: folds become chains of items, items find their loops, loops gather in phases.
//
// 1. Each fold has a tree (trees.hpp). One group of folded axes gives one item; several give a
//    chain, inner first, each item folding the results of the one below. 32 ways where the fold's
//    innermost axis is folded (the ways walk it), else one way, with the vector along the innermost
//    kept axis. An ordered fold is a chain, too, in which each inner loop goes on from the running
//    states of the outer one. A scan is one item, or three where its blocks run in parallel.
// 2. A fold that keeps nothing, or too little for all threads, is cut into chunks: the chunks run
//    in parallel, and a last item joins their results.
// 3. Items are placed one by one into the first phase that has their loops (place.cpp).
#include "plan/arrange.hpp"

#include "plan/arranger.hpp"
#include "plan/pairing.hpp"
#include "plan/place.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

namespace broadloom::plan {

using support::decide;
using support::Reason;

Nests Arranger::run() {
  nests_.item_of_fold.assign(request_.spec.graph.size(), std::nullopt);
  nests_.item_of_held.assign(request_.spec.graph.size(), std::nullopt);
  add_repeated();
  add_panels();
  for (NodeId fold : trees_.folds()) {
    add_holds_below(fold);
    const bool scan = request_.spec.graph[fold].kind == NodeKind::Scan;
    const bool ordered = !request_.spec.graph.recipe(fold).has_combine();
    scan ? add_scan(fold) : ordered ? add_ordered_fold(fold) : add_fold(fold);
    nests_[*nests_.item_of_fold[fold.index]].read |= std::uint64_t(1)
                                                     << request_.spec.graph[fold].payload;
  }
  add_holds_below(NodeId{std::uint32_t(request_.spec.graph.size())});
  for (std::size_t k = 0; k < request_.spec.outputs.size(); ++k)
    if (request_.wanted[k]) add_store(k);
  place_items(request_.resolved, nests_, find_pairs(request_, trees_, nests_),
              request_.generic.has_value());
  explain_pairs(request_, trees_, nests_, why_);
  return std::move(nests_);
}

std::vector<LoopKey> Arranger::path_of(const std::vector<Group> &groups) const {
  std::vector<LoopKey> path;
  std::vector<Group> prefix;
  for (const Group &group : groups) {
    prefix.push_back(group);
    if (ways_.cuts.has(prefix)) {
      path.push_back({LoopKind::Chunks, group, false});
      path.push_back({LoopKind::Within, group, false});
    } else {
      path.push_back({LoopKind::Plain, group, false});
    }
  }
  return path;
}

std::vector<ItemId> Arranger::needs_of(std::span<const NodeId> roots,
                                       std::optional<std::size_t> use) const {
  std::vector<ItemId> needs;
  reach(roots, [&](NodeId id) {
    const bool waits = use && ways_.holds.waits(*use, id);
    if (waits || trees_.is_fold(id))
      needs.push_back(*(waits ? nests_.item_of_held : nests_.item_of_fold)[id.index]);
    return !waits && !trees_.is_fold(id);
  });
  return needs;
}

std::string Arranger::state_names(const ops::Recipe &recipe) {
  return support::joined(recipe.states, [](DType state) { return name(state); });
}

void Arranger::make_vector(std::vector<LoopKey> &path, const Group &group) {
  for (LoopKey &key : path)
    if (key.group == group && key.kind != LoopKind::Chunks) key.vector = true;
}

ItemId Arranger::add_item(NodeId fold, const Item &item) {
  const auto number = [](const auto &id) { return id ? std::int64_t(id->index) : -1; };
  std::string key = fmt::format("{} {} {} {} {} {}", int(item.kind), item.recipe, item.leaf,
                                item.exclusive, number(item.arg_item), number(item.carried_item));
  for (NodeId arg : item.args) key += fmt::format(" {}", arg.index);
  if (item.mask) key += fmt::format(" ?{}", item.mask->index);
  for (NodeId start : item.start) key += fmt::format(" ={}", start.index);
  const auto add_loop = [&](const LoopKey &loop) {
    key += fmt::format("|{}{}{}{} {} {}:", int(loop.kind), loop.vector, loop.scan, loop.reverse,
                       number(loop.chain), loop.turns);
    for (ClassId c : loop.group) key += fmt::format(" {}", c.index);
  };
  for (const LoopKey &loop : item.path) add_loop(loop);
  key += "#";
  add_loop(item.loop);
  // Which axes are equal hangs on the shape, and a generic plan has the same items for all of them.
  if (request_.generic)
    key += fmt::format("#{} {}", request_.spec.graph[fold].folded.bits(),
                       request_.spec.graph[fold].like.index);
  const auto [found, fresh] = known_.try_emplace(key, ItemId{std::uint32_t(nests_.items.size())});
  if (fresh) nests_.items.push_back(item);
  return found->second;
}

void Arranger::explain_fold(NodeId fold, const Tree &tree) {
  if (!why_.wanted) return;
  const ops::Recipe &recipe = request_.spec.graph.recipe(fold);
  const auto name = [&](const Group &group) { return group_name(request_.resolved, group); };
  const std::string folded = support::joined(tree.folded, name),
                    kept = support::joined(tree.kept, name);
  const std::string lanes =
      tree.ways ? fmt::format("32 ways along {}", group_name(request_.resolved, tree.folded.back()))
      : tree.kept.empty() ? "one way"
                          : fmt::format("one way for each element of {}, which is the vector axis",
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
  why_.add([&] {
    return decide(reason, fmt::format("{} over {}", recipe.name, folded),
                  tree.ways ? "32 ways" : "one way",
                  fmt::format("{} over {} in {}: {}, {}", recipe.name, folded, state_names(recipe),
                              lanes, how));
  });
}

Nests arrange(const Request &request, const Trees &trees, const Ways &ways, Why &why) {
  return Arranger(request, trees, ways, why).run();
}

} // namespace broadloom::plan
