// Arranging, the folds and scans: which items they are made of.
#include "plan/arranger.hpp"

#include "ops/increasing.hpp"
#include "plan/thresholds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace broadloom::plan {

Item Arranger::first_item(NodeId fold) {
  Item item;
  const auto args = request_.spec.graph.folded_args(fold),
             start = request_.spec.graph.start_args(fold);
  item.kind = ItemKind::Fold;
  item.recipe = ops::intern(nests_.recipes, steps_of(fold));
  item.args.assign(args.begin(), args.end());
  item.start.assign(start.begin(), start.end());
  item.needs = needs_of(request_.spec.graph.args(fold), ways_.holds.use_of_fold.at(fold));
  return item;
}

// Each block of a fold walks its innermost axis upwards, whatever the loops are.
ops::Recipe Arranger::steps_of(NodeId fold) const {
  const expr::Graph &graph = request_.spec.graph;
  ops::Recipe recipe = graph.recipe(fold);
  const Tree &tree = trees_.tree_of(fold);
  if (graph[fold].kind != NodeKind::Fold || request_.generic || !recipe.has_combine() ||
      !graph.start_args(fold).empty() || tree.folded.back().size() != 1 ||
      (ways_.sweeps.contains(fold) && tree.folded.size() > 1))
    return recipe;
  const auto args = graph.folded_args(fold);
  for (std::size_t k = 0; k < args.size(); ++k)
    if (graph[args[k]].kind == NodeKind::Index &&
        request_.resolved.index_class(request_.spec, args[k]) == tree.folded.back()[0])
      recipe = ops::with_increasing(recipe, k);
  return recipe;
}

// The condition of a sum of what is 0 where it does not hold, if it does not go along the innermost
// group. What the group comes to is chosen once then, and not each element: zeros come to 0.
//
//   sum(where(m[u, i], x[i - u, o], 0), u, o)      for u: a1 += where(m[u, i], a2, 0)
std::optional<NodeId> Arranger::mask_of(NodeId fold) const {
  const expr::Graph &graph = request_.spec.graph;
  const Tree &tree = trees_.tree_of(fold);
  if (request_.generic || tree.folded.size() < 2 || !ops::adds_up(graph.recipe(fold)) ||
      !graph.start_args(fold).empty())
    return std::nullopt;
  std::optional<NodeId> mask;
  for (const NodeId arg : graph.folded_args(fold)) {
    if (!graph.is(arg, ops::Op::Where)) return std::nullopt;
    const NodeId condition = graph.args(arg)[0];
    if (!graph.is_zero(graph.args(arg)[2]) || mask.value_or(condition) != condition ||
        ways_.holds.waits(ways_.holds.use_of_fold.at(fold), arg))
      return std::nullopt;
    mask = condition;
  }
  for (const int axis : graph[*mask].axes.list())
    if (const auto along = request_.resolved.class_of(*mask, axis);
        along && std::ranges::count(tree.folded.back(), *along) != 0)
      return std::nullopt;
  return mask;
}

void Arranger::add_fold(NodeId fold) {
  const ops::Recipe &recipe = request_.spec.graph.recipe(fold);
  const Tree &tree = trees_.tree_of(fold);
  if (const auto nest = ways_.sweeps.find(fold); nest != ways_.sweeps.end())
    return add_swept_fold(fold, tree, nest->second);
  std::optional<ItemId> below;
  const std::optional<NodeId> mask = mask_of(fold);
  bool in_memory = false; // what the innermost group comes to, along the last kept group
  for (std::size_t k = tree.folded.size(); k-- > 0;) {
    const bool innermost = k + 1 == tree.folded.size();
    Item item = innermost ? first_item(fold) : joining(*below, recipe);
    item.leaf = recipe.exact ? 0 : innermost ? tree.leaf() : 1;
    if (mask && innermost)
      for (NodeId &arg : item.args) arg = request_.spec.graph.args(arg)[1];
    if (mask && k + 2 == tree.folded.size()) {
      item.mask = mask;
      const std::vector<ItemId> more =
          needs_of(std::array{*mask}, ways_.holds.use_of_fold.at(fold));
      item.needs.insert(item.needs.end(), more.begin(), more.end());
    }
    std::vector<Group> around = tree.kept;
    around.insert(around.end(), tree.folded.begin(), tree.folded.begin() + k);
    if (innermost) {
      const std::vector<Group> order = in_storage_order(fold, around, tree);
      in_memory = order != around && !tree.kept.empty() && order.back() == tree.kept.back();
      item.path = path_of(order);
    } else {
      item.path = path_of(around);
    }
    if (const auto panels = ways_.panels.folds.find(fold); panels != ways_.panels.folds.end()) {
      item.path = panels->second;
      for (std::size_t m = 0; m < k; ++m) item.path.push_back({LoopKind::Plain, tree.folded[m]});
      for (const std::optional<ItemId> &panel : nests_.item_of_panel)
        if (panel) item.needs.push_back(*panel);
    }
    const bool rows = ways_.short_rows.contains(fold) || ways_.panels.rows.contains(fold);
    if ((!tree.ways || rows || (in_memory && !innermost)) && !tree.kept.empty())
      make_vector(item.path, tree.kept.back());
    around.push_back(tree.folded[k]);
    const bool cut = ways_.cuts.has(around, item.leaf);
    item.loop.kind = cut ? LoopKind::Within : LoopKind::Plain;
    item.loop.group = tree.folded[k];
    item.loop.vector = innermost && tree.ways && !rows;
    if (innermost && rows) item.loop.turns = int(group_extent(request_.resolved, tree.folded[k]));
    std::vector<LoopKey> uncut = item.path;
    if (cut)
      item.path.insert(ways_.cuts.around.contains(tree.folded[k]) ? item.path.begin()
                                                                  : item.path.end(),
                       {LoopKind::Chunks, tree.folded[k]});
    below = add_item(fold, item);
    if (cut) {
      Item join = joining(*below, recipe);
      join.path = std::move(uncut);
      join.loop = {LoopKind::Join, tree.folded[k]};
      join.leaf = recipe.exact ? 0 : 1;
      below = add_item(fold, join);
    }
  }
  nests_.item_of_fold[fold.index] = below;
  explain_fold(fold, tree);
}

// A row of the innermost axis is folded to next to nothing: where the axes around would be walked
// in large steps, they are walked as they lie, and the results of the rows go through memory to the
// folds over the outer axes.
std::vector<Group> Arranger::in_storage_order(NodeId fold, const std::vector<Group> &around,
                                              const Tree &tree) {
  if (request_.generic || around.size() == tree.kept.size() || !tree.ways ||
      group_extent(request_.resolved, tree.folded.back()) < shortest_line)
    return around;
  std::vector<ClassId> classes;
  for (const Group &group : around) classes.insert(classes.end(), group.begin(), group.end());
  const std::vector<Group> lying = trees_.kept_groups(trees_.component_of(fold), classes);
  for (const Group &group : lying)
    if (ways_.cuts.has({group}) || std::count(around.begin(), around.end(), group) == 0)
      return around;
  return lying;
}

void Arranger::add_swept_fold(NodeId fold, const Tree &tree, const std::vector<Group> &nest) {
  const Group &along = tree.folded.front();
  Item partial = first_item(fold);
  partial.kind = ItemKind::Partial;
  partial.path = path_of(nest);
  partial.loop = {LoopKind::Within, along};
  partial.leaf = steps_per_leaf;
  const ItemId below = add_item(fold, partial);
  Item join = joining(below, request_.spec.graph.recipe(fold));
  join.path = path_of(tree.kept);
  make_vector(join.path, tree.kept.back());
  join.loop = {LoopKind::Join, along};
  join.leaf = request_.spec.graph.recipe(fold).exact ? 0 : 1;
  nests_.item_of_fold[fold.index] = add_item(fold, join);
  explain_fold(fold, tree);
}

Item Arranger::joining(ItemId below, const ops::Recipe &recipe) {
  Item item;
  item.kind = ItemKind::Fold;
  item.recipe = ops::intern(nests_.recipes, ops::joining(recipe));
  item.arg_item = below;
  item.needs = {below};
  return item;
}

void Arranger::add_ordered_fold(NodeId fold) {
  const Tree &tree = trees_.tree_of(fold);
  const ChainId chain = chain_of(fold);
  std::optional<ItemId> below;
  for (std::size_t k = tree.folded.size(); k-- > 0;) {
    Item item = first_item(fold);
    item.leaf = in_order;
    item.loop.group = tree.folded[k];
    item.loop.chain = chain;
    item.path = path_of(tree.kept);
    if (!tree.kept.empty()) make_vector(item.path, tree.kept.back());
    for (std::size_t outer = 0; outer < k; ++outer)
      item.path.push_back({LoopKind::Plain, tree.folded[outer], false, false, false, chain});
    if (below) {
      item.args.clear();
      item.arg_item = below;
      item.recipe = ops::intern(nests_.recipes, handing_on(request_.spec.graph.recipe(fold)));
      // What is folded only the innermost group reads: it may lie in a row, which the loops out
      // here do not walk.
      item.needs =
          needs_of(k == 0 ? request_.spec.graph.start_args(fold) : std::span<const NodeId>{},
                   ways_.holds.use_of_fold.at(fold));
      item.needs.push_back(*below);
    }
    const ItemId above = add_item(fold, item);
    if (below) nests_[*below].start_item = above;
    below = above;
  }
  nests_.item_of_fold[fold.index] = below;
  explain_fold(fold, tree);
}

ChainId Arranger::chain_of(NodeId fold) {
  const auto args = request_.spec.graph.args(fold);
  std::vector<std::uint32_t> key{request_.spec.graph[fold].recipe.index,
                                 std::uint32_t(request_.spec.graph[fold].folded.bits()),
                                 std::uint32_t(request_.spec.graph[fold].folded.bits() >> 32)};
  for (NodeId arg : args) key.push_back(arg.index);
  return chains_.try_emplace(std::move(key), ChainId{std::uint32_t(chains_.size())}).first->second;
}

ops::Recipe Arranger::handing_on(const ops::Recipe &recipe) {
  ops::Recipe taker = recipe;
  const auto count = std::uint32_t(recipe.states.size());
  taker.args = recipe.states;
  taker.step = {int(2 * count), {}, {}};
  for (std::uint32_t k = 0; k < count; ++k) taker.step.results.push_back(count + k);
  return taker;
}

void Arranger::add_scan(NodeId scan) {
  const expr::Node &node = request_.spec.graph[scan];
  const ops::Recipe &recipe = request_.spec.graph.recipe(scan);
  const Tree &tree = trees_.tree_of(scan);
  const Group &along = tree.folded.front();
  Item item = first_item(scan);
  item.kind = ItemKind::Scan;
  item.exclusive = node.exclusive;
  std::vector<Group> around = tree.kept;
  around.push_back(along);
  const bool groups = tree.ways && joins_in_lanes(recipe) && !steps_in_rows(recipe, tree);
  const bool cut = recipe.has_combine() && ways_.cuts.has(around, scan_block) &&
                   (groups || !tree.ways || !steps_in_rows(recipe, tree));
  // A number with an exponent stays what it is when it is joined to a start: one block needs no
  // joins.
  const bool one_block = !groups && !cut && ops::is_scaled_number(recipe) &&
                         group_extent(request_.resolved, along) <= scan_block;
  item.leaf = recipe.has_combine() && !one_block ? scan_block : in_order;
  item.path = path_of(tree.kept);
  const bool alone = !groups && rows_crowd(scan, tree) && is_light(scan);
  if (!groups && !tree.kept.empty() && !alone) make_vector(item.path, tree.kept.back());
  item.loop = {LoopKind::Plain, along, groups, true, node.reverse};
  if (node.total) {
    item.kind = ItemKind::Fold;
    item.leaf = in_order;
    item.loop.scan = groups;
    nests_.item_of_fold[scan.index] = add_item(scan, item);
    return;
  }
  if (cut) {
    Item total = first_item(scan);
    total.start.clear(); // `carry` begins there
    total.leaf = in_order;
    total.path = item.path;
    total.path.push_back({LoopKind::Chunks, along});
    total.loop = {LoopKind::Within, along, groups, groups, node.reverse};
    const ItemId totals = add_item(scan, total);
    Item carry = joining(totals, recipe);
    carry.kind = ItemKind::Scan;
    carry.start = item.start;
    const std::vector<ItemId> needed =
        needs_of(request_.spec.graph.start_args(scan), ways_.holds.use_of_fold.at(scan));
    carry.needs.insert(carry.needs.end(), needed.begin(), needed.end());
    carry.exclusive = true;
    carry.leaf = in_order;
    carry.path = item.path;
    carry.loop = {LoopKind::Join, along, false, true, node.reverse};
    const ItemId carries = add_item(scan, carry);
    nests_[carries].read = ~std::uint64_t(0);
    item.path.push_back({LoopKind::Chunks, along});
    item.loop.kind = LoopKind::Within;
    item.carried_item = carries;
    item.needs.push_back(carries);
  }
  nests_.item_of_fold[scan.index] = add_item(scan, item);
  const bool parallel = item.carried_item.has_value();
  why_.add([&] {
    return support::decide(
        !recipe.has_combine() ? support::Reason::ScanWithoutCombine
        : parallel            ? support::Reason::ScanInParallel
                              : support::Reason::ScanInOrder,
        fmt::format("{} along {}", recipe.name, group_name(request_.resolved, along)),
        parallel ? "blocks in parallel" : "in order",
        fmt::format("{} along {} in {}: {}", recipe.name, group_name(request_.resolved, along),
                    state_names(recipe), scan_way(recipe, parallel)) +
            (groups ? ", in groups of 16 lanes"
             : alone
                 ? ", row by row, as the lines of neighbouring rows would crowd the nearest cache"
                 : ""));
  });
}

// Whether a scan whose groups would join a mantissa and an exponent some seven times steps in lanes
// of a row each. The answer follows from the recipe and the extents, as it decides the tree: many
// rows, at least 16 of them side by side, and no longer than that as many stay near with all
// states.
bool Arranger::steps_in_rows(const ops::Recipe &recipe, const Tree &tree) const {
  if (!tree.ways || tree.kept.empty() || !ops::is_scaled_number(recipe)) return false;
  if (tree.side_by_side < loop::row_lanes) return false;
  double kept = 1, bytes = double(group_extent(request_.resolved, tree.folded.front()));
  for (const Group &group : tree.kept) kept *= double(group_extent(request_.resolved, group));
  double states = 0;
  for (const DType state : recipe.states) states += double(size_of(state));
  bytes *= states * loop::row_lanes;
  return kept >= fewest_stepped_rows && bytes <= most_bytes_of_stepped_rows;
}

// Whether an input of the scan lies in rows along it, and these so that their lines share few sets
// of a cache. Lanes take blocks of these (but for complex numbers), but then the states of all
// lanes are kept, if somebody reads them, and not those of one row.
bool Arranger::rows_crowd(NodeId scan, const Tree &tree) const {
  if (!tree.ways || tree.kept.empty()) return false;
  double bytes = 0;
  for (const DType state : request_.spec.graph.recipe(scan).states)
    bytes += double(size_of(state)) * loop::row_lanes *
             double(group_extent(request_.resolved, tree.folded.front()));
  const bool in_lanes = bytes <= most_bytes_of_lane_rows;
  const ClassId along = tree.folded.back().back(), across = tree.kept.back().back();
  const std::vector<std::uint32_t> inputs =
      trees_.inputs_over({across, along}, request_.spec.graph.folded_args(scan));
  return std::ranges::any_of(inputs, [&](std::uint32_t input) {
    const Steps &steps = request_.walks.inputs[input];
    const auto size = std::int64_t(size_of(request_.spec.inputs[input].dtype));
    if (in_lanes && !is_complex(request_.spec.inputs[input].dtype)) return false;
    return std::abs(stride_along(steps, along)) == 1 &&
           stride_along(steps, across) * size % crowding_bytes == 0;
  });
}

// Whether a step and what it takes are a few instructions, for which it does without lanes.
bool Arranger::is_light(NodeId scan) const {
  int cost = 0;
  const auto add = [&](ops::Op op) {
    cost += ops::info(op).is_function() ? most_cost_alone + 1 : ops::info(op).cost;
  };
  for (const ops::Code::Line &line : request_.spec.graph.recipe(scan).step.lines)
    if (line.kind == ops::Code::Line::Kind::Op) add(line.op);
  reach(request_.spec.graph.folded_args(scan), [&](NodeId id) {
    if (trees_.is_fold(id) || cost > most_cost_alone) return false;
    if (request_.spec.graph[id].kind == NodeKind::Op) add(request_.spec.graph[id].op);
    return true;
  });
  return cost <= most_cost_alone;
}

// The answer follows from the recipe alone, as it decides the tree.
bool Arranger::joins_in_lanes(const ops::Recipe &recipe) {
  if (!recipe.has_combine()) return false;
  int cost = 0;
  for (const ops::Code *code : {&recipe.step, &recipe.combine})
    for (const ops::Code::Line &line : code->lines)
      if (line.kind == ops::Code::Line::Kind::Op) {
        if (ops::info(line.op).is_function()) return false;
        cost += ops::info(line.op).cost;
      }
  return cost <= most_cost_in_lanes;
}

std::string Arranger::scan_way(const ops::Recipe &recipe, bool in_chunks) {
  if (!recipe.has_combine()) return "in order, because it has no combine";
  return fmt::format("in blocks of {} positions, {}", scan_block,
                     in_chunks ? "which run in parallel after their totals have been scanned"
                               : "one after another");
}

} // namespace broadloom::plan
