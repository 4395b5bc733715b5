// Choosing how folds walk their rows: see choose.hpp.
#include "plan/choose.hpp"

#include "plan/thresholds.hpp"
#include "plan/wishes.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace broadloom::plan {

using expr::NodeId;
using expr::NodeKind;
using support::decide;
using support::Reason;

bool is_free(const Request &request, NodeId fold) {
  const expr::Graph &graph = request.spec.graph;
  return graph[fold].kind == NodeKind::Fold && graph.recipe(fold).has_combine() &&
         graph.start_args(fold).empty();
}

namespace {

// The operations, as the table counts their costs, that this fold and others would both compute at
// every position of these loops: outputs that are stored and folds that run along the row. Where
// masks are not free, 0 with functions heavier than exp among them: such a body stands once, under
// a mask, and moves of its states would be masked, too.
double shared_cost(const Request &request, const Trees &trees, NodeId fold,
                   const std::vector<Group> &nest, const Machine &machine) {
  const expr::Graph &graph = request.spec.graph;
  std::vector<ClassId> all;
  for (const Group &group : nest) all.insert(all.end(), group.begin(), group.end());
  const auto at_every_position = [&](NodeId id) {
    const std::vector<ClassId> classes = trees.classes_of(id);
    return std::ranges::all_of(all, [&](ClassId c) { return std::ranges::count(classes, c) > 0; });
  };
  const auto reached = [&](std::span<const NodeId> roots) {
    std::set<NodeId> nodes;
    std::vector<NodeId> work(roots.begin(), roots.end());
    while (!work.empty()) {
      const NodeId id = work.back();
      work.pop_back();
      if (trees.is_fold(id) || !at_every_position(id) || !nodes.insert(id).second) continue;
      for (NodeId arg : graph.operands(id)) work.push_back(arg);
    }
    return nodes;
  };
  std::set<NodeId> others;
  for (const NodeId other : trees.folds()) {
    const Trees::Tree &tree = trees.tree_of(other);
    std::vector<Group> loops = tree.kept;
    loops.insert(loops.end(), tree.folded.begin(), tree.folded.end());
    if (loops == nest && tree.ways && is_free(request, other))
      others.merge(reached(graph.folded_args(other)));
  }
  for (std::size_t k = 0; k < request.spec.outputs.size(); ++k)
    if (request.wanted[k] && trees.output_groups(k) == nest)
      others.merge(reached({&request.spec.outputs[k].addend, 1}));
  double cost = 0;
  for (const NodeId id : reached(graph.folded_args(fold))) {
    if (graph[id].kind != NodeKind::Op || !others.contains(id)) continue;
    const int own = ops::info(graph[id].op).cost;
    if (own > most_cost_under_masks && !machine.masks_free) return 0;
    cost += own;
  }
  return cost;
}

// The loops of this fold as a sweep, or none.
std::vector<Group> sweep_of(const Request &request, const Trees &trees, NodeId fold,
                            const Cuts &chunks, const Machine &machine, Why &why) {
  const ops::Recipe &recipe = request.spec.graph.recipe(fold);
  if (!is_free(request, fold)) return {};
  const Trees::Tree &tree = trees.tree_of(fold);
  if (tree.folded.size() != 1 || tree.ways || tree.kept.empty()) return {};
  for (NodeId inner :
       trees.folds_in(request.spec.graph.folded_args(fold))) // a scan has loops of its own
    if (request.spec.graph[inner].kind == NodeKind::Scan) return {};
  std::vector<ClassId> classes = trees.classes_of(fold);
  classes.insert(classes.end(), tree.folded[0].begin(), tree.folded[0].end());
  const std::vector<Group> nest = trees.kept_groups(trees.component_of(fold), classes);
  const auto at = std::find(nest.begin(), nest.end(), tree.folded[0]);
  if (at == nest.end() || at + 1 == nest.end() || nest.back() != tree.kept.back()) return {};

  const auto extent = [&](const Group &group) {
    return double(group_extent(request.resolved, group));
  };
  double outer = 1, row = 1, bytes = 0;
  for (auto group = nest.begin(); group != at; ++group) outer *= extent(*group);
  for (auto group = at + 1; group != nest.end(); ++group) row *= extent(*group);
  for (DType state : recipe.states) bytes += row * double(size_of(state));
  const double leaves = std::ceil(extent(*at) / double(steps_per_leaf));
  // Row by row is the way to read an array that has all these axes, once; what is read again and
  // again, as in products of matrices, is in the caches anyway, and the states are better off in
  // registers.
  const std::string along = group_name(request.resolved, *at);
  const auto in_registers = [&](Reason reason, const std::string &because) {
    why.add([&] {
      return decide(
          reason, along, "states in registers",
          fmt::format("{} over {} keeps its states in registers: {}", recipe.name, along, because),
          {{"a row of states in memory", because, {.bytes = bytes}}});
    });
    return std::vector<Group>();
  };
  if (extent(nest.back()) < double(shortest_line))
    return in_registers(Reason::ShortRows, "the rows are short");
  if (bytes > most_state_bytes)
    return in_registers(Reason::StatesExceedCache, "a row of states would leave the caches");
  if (outer * leaves < fewest_chunks_of_rows * machine.threads)
    return in_registers(Reason::TooFewRows, "there are too few chunks of rows for the threads");
  const bool computed =
      trees.inputs_over(classes, request.spec.graph.folded_args(fold)).empty(); // and not read
  if (computed && shared_cost(request, trees, fold, nest, machine) <
                      least_cost_shared * double(recipe.states.size()))
    return in_registers(Reason::ReadRepeatedly,
                        "no operand has all axes, so all of them are read many times, and it "
                        "shares no functions with what goes row by row");
  // Others that run in chunks of this axis have larger leaves.
  const auto cut = chunks.chunks.find(*at);
  if (cut != chunks.chunks.end() && cut->second.least > steps_per_leaf) return {};
  why.add([&] {
    return decide(
        computed ? Reason::RowsComputedOnce : Reason::RowsAsTheyLie, along, "row by row",
        fmt::format("{} over {} goes row by row: each {} rows have a row of states in memory "
                    "({:.3g} bytes), and those are joined at the end",
                    recipe.name, along, steps_per_leaf, bytes),
        {{"states in registers",
          computed ? "computes its functions again, in a sweep of its own"
                   : "reads its operands in steps of a row, and in a sweep of its own"}},
        {.bytes = 2 * bytes * outer * leaves});
  });
  return nest;
}

// Whether an output or a scan has its lanes along the rows of this nest: then a fold of them has,
// too.
bool has_lanes_along_rows(const Request &request, const Trees &trees,
                          const std::vector<Group> &nest) {
  const Group &row = nest.back(), &kept = nest[nest.size() - 2];
  const auto goes_along = [&](const std::vector<ClassId> &classes) {
    return std::any_of(row.begin(), row.end(), [&](ClassId c) {
      return std::count(classes.begin(), classes.end(), c) > 0;
    });
  };
  for (std::size_t k = 0; k < request.spec.outputs.size(); ++k) {
    if (!request.wanted[k]) continue;
    const std::vector<Group> loops = trees.output_groups(k);
    if (loops == nest) continue;
    if (goes_along(trees.output_classes(k))) return true;
    if (std::count(loops.begin(), loops.end(), kept) > 0 && loops.back() != kept) return true;
  }
  for (std::uint32_t n = 0; n < request.spec.graph.size(); ++n)
    if (trees.needed(NodeId{n}) && request.spec.graph[NodeId{n}].kind == NodeKind::Scan &&
        goes_along(trees.classes_of(NodeId{n})))
      return true;
  return false;
}

} // namespace

LoopsOfFolds choose_sweeps(const Request &request, const Trees &trees, const Cuts &chunks,
                           const Machine &machine, Why &why) {
  LoopsOfFolds sweeps;
  for (const NodeId fold : trees.folds())
    if (std::vector<Group> loops = sweep_of(request, trees, fold, chunks, machine, why);
        !loops.empty())
      sweeps.emplace(fold, std::move(loops));
  return sweeps;
}

std::set<Group> choose_few(const Request &request, const Trees &trees, const Schedule &chosen,
                           Why &why) {
  std::set<Group> few;
  const auto count = [&](const std::vector<Group> &groups) {
    double positions = 1;
    for (const Group &group : groups) positions *= double(group_extent(request.resolved, group));
    return positions;
  };
  const auto is_otherwise = [&](const Group &group) {
    const bool has_copies = std::ranges::any_of(group, [&](ClassId c) {
      const std::optional<int> axis = request.resolved[c].axis;
      return axis && request.spec.wishes.copies_of(*axis) > 0;
    });
    return has_copies || chosen.chunk_sizes.contains(group) || asks_for_lanes(request, group);
  };
  for (const NodeId fold : trees.folds()) {
    const Trees::Tree &tree = trees.tree_of(fold);
    const double folded = count(tree.folded);
    if (!is_free(request, fold) || tree.ways || tree.kept.empty() || folded < 2 ||
        folded > double(longest_short_row) || count(tree.kept) < double(fewest_short_rows) ||
        group_extent(request.resolved, tree.kept.back()) < shortest_line ||
        chosen.ways.sweeps.contains(fold) || chosen.ways.panels.folds.contains(fold) ||
        std::ranges::any_of(tree.folded, is_otherwise))
      continue;
    const std::string along = support::joined(
        tree.folded, [&](const Group &group) { return group_name(request.resolved, group); });
    few.insert(tree.folded.begin(), tree.folded.end());
    why.add([&] {
      return decide(Reason::FewPositionsFolded,
                    request.spec.graph.recipe(fold).name + " over " + along,
                    fmt::format("{} steps", folded),
                    fmt::format("{} {} {} positions, and the code is for just these", along,
                                tree.folded.size() > 1 ? "have" : "has", folded),
                    {{"a loop", "its turns would cost as much as its steps"}});
    });
  }
  return few;
}

namespace {

// Operands with lanes side by side that rows share, as they lie: b of sum(a[i, k] * b[k, j], k).
struct Shared {
  NodeId fold;
  Group rows;
  std::vector<std::uint32_t> inputs;
};

std::vector<Shared> shared_of_rows(const Request &request, const Trees &trees, const Ways &ways) {
  std::vector<Shared> found;
  for (const NodeId fold : trees.folds()) {
    const Trees::Tree &tree = trees.tree_of(fold);
    if (!is_free(request, fold) || tree.ways || tree.kept.size() < 2 ||
        ways.sweeps.contains(fold) || ways.panels.folds.contains(fold))
      continue;
    const Group &rows = tree.kept[tree.kept.size() - 2], &lanes = tree.kept.back();
    auto inputs = trees.inputs_over({lanes.back()}, request.spec.graph.folded_args(fold));
    std::erase_if(inputs, [&](std::uint32_t input) {
      const Steps &steps = request.walks.inputs[input];
      return stride_along(steps, lanes) != 1 || stride_along(steps, rows) != 0;
    });
    found.push_back({fold, rows, std::move(inputs)});
  }
  return found;
}

} // namespace

// From the nearest cache, too: one row alone has few states, whose steps wait for each other. f32
// [54, 64] by [64, 64] takes 0.7 of the time. Its code takes 12 ms more to make, so there are to be
// some 100,000 steps in all.
std::set<std::uint32_t> choose_shared(const Request &request, const Trees &trees,
                                      const Schedule &chosen) {
  std::set<std::uint32_t> gain;
  for (const Shared &shared : shared_of_rows(request, trees, chosen.ways)) {
    const Trees::Tree &tree = trees.tree_of(shared.fold);
    const auto positions = [&](const std::vector<Group> &groups) {
      double all = 1;
      for (const Group &group : groups) all *= double(group_extent(request.resolved, group));
      return all;
    };
    const double steps = positions(tree.folded);
    if (steps >= fewest_tile_steps && steps * positions(tree.kept) >= fewest_steps_in_all &&
        group_extent(request.resolved, shared.rows) >= fewest_tile_rows)
      gain.insert(shared.inputs.begin(), shared.inputs.end());
  }
  return gain;
}

std::set<Group> choose_tall(const Request &request, const Trees &trees, const Schedule &chosen,
                            Why &why) {
  std::set<Group> tall;
  for (const auto &[fold, rows, inputs] : shared_of_rows(request, trees, chosen.ways)) {
    const std::int64_t count = group_extent(request.resolved, rows);
    // The last tile takes rows of the one before again.
    const std::int64_t taken = (count + tall_rows - 1) / tall_rows * tall_rows;
    if (chosen.chunk_sizes.contains(rows) || double(taken) > most_rows_again * double(count))
      continue;
    // Where elements are widened for the sum, what each row has of its own would be widened more
    // often.
    const ops::Recipe &recipe = request.spec.graph.recipe(fold);
    const auto shared = std::ranges::find_if(inputs, [&](std::uint32_t input) {
      return recipe.states[0] == request.spec.inputs[input].dtype &&
             chosen.reads[input].exceeds_nearest_cache;
    });
    if (shared == inputs.end() || !tall.insert(rows).second) continue;
    why.add([&] {
      const std::string name = request.spec.inputs[*shared].name,
                        axis = group_name(request.resolved, rows);
      return decide(Reason::TallTiles, axis, "twice as many rows",
                    fmt::format("register tiles have twice as many rows along {}, as '{}' is read "
                                "for each of them, where it lies",
                                axis, name),
                    {{"wide tiles", "it would be read twice as often"}});
    });
  }
  return tall;
}

LoopsOfFolds choose_short_rows(const Request &request, const Trees &trees, Why &why) {
  const Resolved &resolved = request.resolved;
  LoopsOfFolds chosen;
  for (const NodeId fold : trees.folds()) {
    const Trees::Tree &tree = trees.tree_of(fold);
    if (!is_free(request, fold) || !tree.ways || tree.kept.empty()) continue;
    const Group &row = tree.folded.back(), &kept = tree.kept.back();
    const std::int64_t turns = group_extent(resolved, row);
    double rows = 1;
    for (const Group &group : tree.kept) rows *= double(group_extent(resolved, group));
    const bool few =
        rows < double(fewest_short_rows) || group_extent(resolved, kept) < shortest_line;
    if (turns < 2 || turns > longest_short_row || asks_for_lanes(request, row) ||
        (few && !asks_for_lanes(request, kept)))
      continue;
    std::vector<Group> nest = tree.kept;
    nest.push_back(row);
    if (has_lanes_along_rows(request, trees, nest)) continue;
    chosen.emplace(fold, std::move(nest));
    why.add([&] {
      const std::string along = group_name(resolved, row), lanes = group_name(resolved, kept);
      return decide(
          Reason::ShortRowsTogether, request.spec.graph.recipe(fold).name + " over " + along,
          "lanes along " + lanes,
          fmt::format("{} is the vector axis, not {}, which has {} positions only: each "
                      "lane folds a row",
                      lanes, along, turns),
          {{"lanes along " + along, "most of them would be idle, and joined for each row"}});
    });
  }
  return chosen;
}

} // namespace broadloom::plan
