// Choosing which operands of products are packed: see panels.hpp.
#include "plan/choose.hpp"

#include "plan/thresholds.hpp"
#include "plan/wishes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

namespace broadloom::plan {

using expr::NodeId;
using expr::NodeKind;
using support::decide;
using support::Reason;

namespace {

bool walks(const Steps &steps, const Group &group) {
  return std::all_of(group.begin(), group.end(),
                     [&](ClassId cls) { return stride_along(steps, cls) != 0; });
}

bool walks_none(const Steps &steps, const Group &group) {
  return std::all_of(group.begin(), group.end(),
                     [&](ClassId cls) { return stride_along(steps, cls) == 0; });
}

class PanelChooser {
public:
  PanelChooser(const Request &request, const Trees &trees, const Ways &ways, const Machine &machine,
               Why &why)
      : request_(request), trees_(trees), ways_(ways), machine_(machine), why_(why) {}

  Panels run() {
    for (const NodeId fold : trees_.folds())
      if (is_product(fold))
        pack(fold);
      else if (folds_rows(fold))
        pack_rows(fold);
    return std::move(panels_);
  }

private:
  // Positions of a panel: the lanes of a register tile (block/choose_tiles.cpp), whose states fill
  // the registers.
  std::int64_t width(NodeId fold) const {
    std::int64_t bytes = 0;
    for (const DType state : request_.spec.graph.recipe(fold).states)
      bytes += std::int64_t(size_of(state));
    const std::int64_t lanes = machine_.accumulator_bytes() /
                               (machine_.sizes.tile_rows * std::max<std::int64_t>(bytes, 1));
    return std::max(std::int64_t(std::bit_floor(std::uint64_t(lanes))), shortest_panel);
  }

  // Rows of a tile.
  std::int64_t height(const Group &rows) const {
    for (const ClassId cls : rows)
      if (const std::optional<int> axis = request_.resolved[cls].axis)
        if (const int asked = request_.spec.wishes.rows_of(*axis); asked > 0) return asked;
    return machine_.sizes.tile_rows;
  }

  // A fold that a register tile can take: kept positions are lanes, and its steps are cheap.
  bool is_product(NodeId fold) const {
    const Trees::Tree &tree = trees_.tree_of(fold);
    return !tree.ways && tree.folded.size() == 1 && is_free_nest(fold) &&
           !ways_.short_rows.contains(fold) &&
           extent(rows_of(tree)) * panel_row_bytes >= machine_.nearest_cache &&
           extent(tree.kept.back()) >= width(fold) &&
           extent(tree.folded[0]) >= fewest_panel_steps && is_light(fold);
  }

  // A fold along rows that lie side by side, of as many steps as have code of their own.
  bool folds_rows(NodeId fold) const {
    const Trees::Tree &tree = trees_.tree_of(fold);
    if (!tree.ways || !is_free_nest(fold) || asks_for_lanes(request_, tree.folded.back()))
      return false;
    const std::int64_t steps = extent(tree.folded.back());
    double rows = 1;
    for (std::size_t k = 0; k + 1 < tree.kept.size(); ++k) rows *= double(extent(tree.kept[k]));
    return steps >= fewest_panel_steps && steps <= loop::most_turns &&
           rows * double(panel_row_bytes) >= double(machine_.nearest_cache) &&
           extent(tree.kept.back()) >= shortest_side &&
           request_.spec.graph.recipe(fold).states.size() == 1 && is_light(fold);
  }

  // Nothing else is known of its loops.
  bool is_free_nest(NodeId fold) const {
    const Trees::Tree &tree = trees_.tree_of(fold);
    const auto is_cut = [&](const Group &group) { return ways_.cuts.chunks.contains(group); };
    return is_free(request_, fold) && !ways_.sweeps.contains(fold) && tree.kept.size() >= 2 &&
           trees_.folds_in(request_.spec.graph.folded_args(fold)).empty() &&
           std::ranges::none_of(tree.kept, is_cut) && std::ranges::none_of(tree.folded, is_cut);
  }

  bool is_light(NodeId fold) const {
    int cost = 0;
    for (const NodeId id : computed_in(fold)) {
      const expr::Node &node = request_.spec.graph[id];
      if (is_complex(node.dtype) || node.kind == NodeKind::Index) return false;
      if (node.kind != NodeKind::Op) continue;
      const ops::OpInfo &info = ops::info(node.op);
      if (info.is_function()) return false;
      cost += info.cost;
    }
    return cost <= most_panel_cost;
  }

  // The nodes that each step computes or loads, but for values that are held in memory.
  std::vector<NodeId> computed_in(NodeId fold) const {
    const auto args = request_.spec.graph.folded_args(fold);
    std::vector<NodeId> found, work(args.begin(), args.end());
    std::vector<bool> seen(request_.spec.graph.size());
    const std::size_t use = ways_.holds.use_of_fold.at(fold);
    while (!work.empty()) {
      const NodeId id = work.back();
      work.pop_back();
      if (seen[id.index] || ways_.holds.waits(use, id)) continue;
      seen[id.index] = true;
      found.push_back(id);
      for (NodeId arg : request_.spec.graph.operands(id)) work.push_back(arg);
    }
    return found;
  }

  void pack(NodeId fold) {
    const Trees::Tree &tree = trees_.tree_of(fold);
    const Group &lanes = tree.kept.back(), &rows = rows_of(tree);
    if (!pack(fold, lanes, rows, width(fold))) return;
    follow(fold, pack(fold, rows, lanes, height(rows)));
  }

  // All that lies along the rows and not along the lanes, or nothing.
  void pack_rows(NodeId fold) {
    const Trees::Tree &tree = trees_.tree_of(fold);
    const Group &lanes = tree.kept.back(), &row = tree.folded.back();
    std::size_t element = sizeof(double);
    for (const NodeId id : computed_in(fold)) {
      const expr::Node &node = request_.spec.graph[id];
      if (node.kind != NodeKind::Input || walks_none(request_.walks.inputs[node.payload], lanes))
        continue;
      const bool known =
          std::ranges::find(panels_.arrays, node.payload, &Panel::input) != panels_.arrays.end();
      if (known || !is_panel(node.payload, tree, lanes, rows_of(tree))) return;
      element = std::max(sizeof(float), std::min(element, size_of(node.dtype)));
    }
    // As many as a tile has: a panel is read again for the next rows, and to stay near meanwhile.
    const std::int64_t in_register = machine_.vector_bytes() / std::int64_t(element);
    if (!pack(fold, lanes, rows_of(tree), std::max(in_register, shortest_panel))) return;
    follow(fold, false);
    panels_.rows.insert(fold);
    why_.add([&] {
      const std::string along = group_name(request_.resolved, row),
                        across = group_name(request_.resolved, lanes);
      return decide(Reason::ShortRowsTogether,
                    request_.spec.graph.recipe(fold).name + " over " + along,
                    "lanes along " + across,
                    fmt::format("{} is the vector axis, not {}, which has {} positions only: each "
                                "lane folds a row",
                                across, along, extent(row)),
                    {{"lanes along " + along, "they would be joined for each row"}});
    });
  }

  // The loops around a fold that reads panels.
  void follow(NodeId fold, bool both) {
    const Trees::Tree &tree = trees_.tree_of(fold);
    const Group &lanes = tree.kept.back(), &rows = rows_of(tree);
    std::vector<LoopKey> path;
    for (std::size_t k = 0; k + 2 < tree.kept.size(); ++k)
      path.push_back({LoopKind::Plain, tree.kept[k]});
    path.push_back({LoopKind::Chunks, lanes});
    if (both) path.push_back({LoopKind::Chunks, rows});
    path.push_back({both ? LoopKind::Within : LoopKind::Plain, rows});
    path.push_back({LoopKind::Within, lanes});
    panels_.folds.emplace(fold, std::move(path));
  }

  // Into panels of so many positions along one side of the tile, each of which is read by all of
  // the other side.
  bool pack(NodeId fold, const Group &side, const Group &other, std::int64_t width) {
    const Trees::Tree &tree = trees_.tree_of(fold);
    const auto cut = panels_.widths.find(side);
    if (cut != panels_.widths.end() && cut->second != width) return false;
    bool packed = false;
    for (const NodeId id : computed_in(fold)) {
      const expr::Node &node = request_.spec.graph[id];
      if (node.kind != NodeKind::Input || !is_worth_it(node.payload, tree, side, other)) continue;
      std::vector<LoopKey> path;
      for (const Group &group : tree.kept)
        if (group != side && walks(request_.walks.inputs[node.payload], group))
          path.push_back({LoopKind::Plain, group});
      for (std::size_t k = 0; k + 1 < tree.folded.size(); ++k)
        if (walks(request_.walks.inputs[node.payload], tree.folded[k]))
          path.push_back({LoopKind::Plain, tree.folded[k]});
      path.push_back({LoopKind::Chunks, side});
      path.push_back({LoopKind::Plain, tree.folded.back()});
      path.push_back({LoopKind::Within, side, true});
      const auto known = std::ranges::find(panels_.arrays, node.payload, &Panel::input);
      if (known != panels_.arrays.end() && known->path != path) continue;
      packed = true;
      if (known != panels_.arrays.end()) continue;
      panels_.arrays.push_back({node.payload, std::move(path)});
      explain(node.payload, side, other, width);
    }
    if (packed) panels_.widths.emplace(side, width);
    return packed;
  }

  // What the other side of a tile shares, and would not find in the nearest cache. Rows that lie
  // along the fold are read line by line as they are.
  bool is_worth_it(std::uint32_t input, const Trees::Tree &tree, const Group &side,
                   const Group &other) const {
    if (!is_panel(input, tree, side, other)) return false;
    const Group &folded = tree.folded.back();
    if (tree.ways) return true; // each element would be one of another row
    if (side != tree.kept.back() &&
        std::abs(stride_along(request_.walks.inputs[input], folded)) == 1)
      return false;
    return double(extent(side)) * double(extent(folded)) *
               double(size_of(request_.spec.inputs[input].dtype)) >
           double(machine_.nearest_cache);
  }

  // Whether it has a panel for each position of the loops around, which the other side shares.
  bool is_panel(std::uint32_t input, const Trees::Tree &tree, const Group &side,
                const Group &other) const {
    const Steps &steps = request_.walks.inputs[input];
    const auto as_one = [&](const Group &group) {
      return walks(steps, group) || walks_none(steps, group);
    };
    return walks(steps, side) && walks(steps, tree.folded.back()) && walks_none(steps, other) &&
           std::ranges::all_of(tree.kept, as_one) && std::ranges::all_of(tree.folded, as_one);
  }

  void explain(std::uint32_t input, const Group &side, const Group &other, std::int64_t width) {
    why_.add([&] {
      const std::string along = group_name(request_.resolved, side),
                        reader = group_name(request_.resolved, other),
                        &name = request_.spec.inputs[input].name;
      double bytes = double(size_of(request_.spec.inputs[input].dtype));
      for (const Step &step : request_.walks.inputs[input])
        bytes *= double(request_.resolved[step.cls].extent);
      return decide(Reason::OperandPacked, name, fmt::format("panels of {} of {}", width, along),
                    fmt::format("'{}' is packed into panels of {} positions of {}: all {} of {} "
                                "read each panel, and find it side by side",
                                name, width, along, extent(other), reader),
                    {{"as it lies", "each step would read a piece of another row"}},
                    {.bytes = 2 * bytes});
    });
  }

  static const Group &rows_of(const Trees::Tree &tree) { return tree.kept[tree.kept.size() - 2]; }
  std::int64_t extent(const Group &group) const { return group_extent(request_.resolved, group); }

  const Request &request_;
  const Trees &trees_;
  const Ways &ways_;
  const Machine &machine_;
  Why &why_;
  Panels panels_;
};

} // namespace

Panels choose_panels(const Request &request, const Trees &trees, const Ways &ways,
                     const Machine &machine, Why &why) {
  return PanelChooser(request, trees, ways, machine, why).run();
}

} // namespace broadloom::plan
