// The choice of a schedule, as a table of contents, and the chunks: see schedule.hpp. What is
// chosen before there are items is here and in choose_folds.cpp, choose_tiles.cpp and hold.cpp;
// what goes by their loops is in choose_access.cpp and rows.cpp.
#include "plan/choose.hpp"

#include "plan/arrange.hpp"
#include "plan/thresholds.hpp"
#include "plan/wishes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::plan {

using expr::NodeId;
using expr::NodeKind;
using support::decide;
using support::Reason;

Schedule choose(const Request &request, const Machine &machine) {
  const Trees trees(request);
  Schedule chosen;
  Why &why = chosen.why;
  why.wanted = request.explain;
  if (why.wanted) why.decisions = trees.explain();
  chosen.by_stride = trees.by_stride();

  // Beyond this point the order of the axes and the trees of the folds are fixed.

  if (request.generic) { // and nothing else is chosen that goes by sizes
    chosen.ways.holds = no_holds(request, trees);
    chosen.nests = arrange(request, trees, chosen.ways, why);
    chosen.stores.resize(request.spec.outputs.size());
    chosen.reads.assign(request.spec.inputs.size(), {.stays_near = true});
    return chosen;
  }

  Cuts chunks = choose_chunks(request, trees, machine, why);
  Ways &ways = chosen.ways;
  ways.sweeps = choose_sweeps(request, trees, chunks, machine, why);
  ways.short_rows = choose_short_rows(request, trees, why);
  ways.tiles = choose_tiles(request, trees, machine, why);
  add_chunks_of_products(request, trees, ways, machine, chunks, why);
  ways.cuts = all_cuts(request, trees, chunks, ways);
  ways.holds = choose_holds(request, trees, ways.sweeps, machine, why);
  ways.panels = choose_panels(request, trees, ways, machine, why);
  for (const auto &[lanes, width] : ways.panels.widths)
    ways.cuts.chunks[lanes] = {ChunkKind::Panel, width};
  chosen.nests = arrange(request, trees, ways, why);

  // Beyond this point items have their loops and their phases.

  chosen.rows = choose_rows(request, trees, chosen.nests, why);
  chosen.chunk_sizes = choose_chunk_sizes(request, machine, ways.cuts, chosen.nests);
  chosen.few = choose_few(request, trees, chosen, why);
  chosen.stores = choose_stores(request, chosen.nests, machine);
  chosen.reads = choose_reads(request, ways.cuts, machine);
  for (const std::uint32_t input : choose_shared(request, trees, chosen))
    chosen.reads[input].gains_by_tiles = true;
  chosen.tall = choose_tall(request, trees, chosen, why);
  chosen.blocks_of_input = blocks_of_input(machine);
  return chosen;
}

bool Cuts::has(const std::vector<Group> &path) const {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

// The chunks of a sweep are single leaves of its own, less than one of a fold in lanes or a block
// of a scan: those run uncut beside it, as their trees must not depend on who else walks the axis.
bool Cuts::has(const std::vector<Group> &path, std::int64_t leaf) const {
  if (!has(path)) return false;
  const Chunks &found = chunks.at(path.back());
  return found.kind != ChunkKind::SweptLeaf || leaf <= found.least;
}

Cuts choose_chunks(const Request &request, const Trees &trees, const Machine &machine, Why &why) {
  const Resolved &resolved = request.resolved;
  // A GPU has more warps than any processor has threads.
  const double most_kept =
      machine.warp > 0 ? std::max(few_kept, double(machine.threads)) : few_kept;
  Cuts cuts;
  for (const NodeId fold : trees.folds()) {
    if (!request.spec.graph.recipe(fold).has_combine()) continue;
    const bool scan = request.spec.graph[fold].kind == NodeKind::Scan;
    const Trees::Tree &tree = trees.tree_of(fold);
    double kept = 1, folded = 1;
    for (const Group &g : tree.kept) kept *= double(group_extent(resolved, g));
    for (const Group &g : tree.folded) folded *= double(group_extent(resolved, g));
    const bool few =
        kept < most_kept && folded >= fewest_folded && kept * folded >= fewest_in_chunks;
    const std::int64_t leaf = scan ? scan_block : tree.folded.size() > 1 ? 1 : tree.leaf();
    const Group &along = tree.folded.front();
    const bool asked = asks_for_threads(request, along) && kept <= most_kept_in_chunks &&
                       group_extent(resolved, along) > leaf;
    if ((!tree.kept.empty() || scan) && !few && !asked) continue;
    std::int64_t &least = cuts.chunks[along].least;
    least = std::max(least, leaf);
    std::vector<Group> path = tree.kept;
    path.push_back(along);
    if (cuts.has(path)) continue;
    cuts.paths.push_back(std::move(path));
    why.add([&] {
      const bool none = tree.kept.empty();
      const std::string name = group_name(resolved, along);
      return decide(
          none  ? Reason::NoAxisKept
          : few ? Reason::FewPositionsKept
                : Reason::ChunksAsked,
          name, "in chunks",
          fmt::format("{} is folded in chunks that run in parallel and are joined at the end: {}",
                      name,
                      none  ? "no axis is kept"
                      : few ? "few positions are kept"
                            : "the schedule asks for it"),
          {{"uncut", none || few
                         ? fmt::format("{:.3g} kept positions cannot occupy the threads", kept)
                         : "the kept positions would be shared out alone"}});
    });
  }
  return cuts;
}

// Products whose folded axis is long and whose results are few.
//
// Problem: in c[i, j] = sum(x[n, i] * y[n, j], n) every tile of c goes through all n, and x and y
// come from far caches once for each row, or column, of tiles. Few tiles cannot occupy the threads.
// Method: chunks of n whose operands a core's own caches hold go around the loops over i and j. A
// chunk has results for all of c, which are joined at the end.
//
//   for n.chunk, i, j: init a0; for n in the chunk: a0 += x[n, i] * y[n, j]; s0[n.chunk, i, j] = a0
void add_chunks_of_products(const Request &request, const Trees &trees, const Ways &ways,
                            const Machine &machine, Cuts &cuts, Why &why) {
  if (machine.warp > 0) return;
  const Resolved &resolved = request.resolved;
  for (const NodeId fold : trees.folds()) {
    const Trees::Tree &tree = trees.tree_of(fold);
    if (!is_free(request, fold) || tree.folded.size() != 1 || tree.kept.size() < 2 ||
        ways.sweeps.contains(fold) || ways.short_rows.contains(fold) ||
        !trees.folds_in(request.spec.graph.folded_args(fold)).empty())
      continue;
    const Group &along = tree.folded.front();
    const auto is_along = [&](const auto &other) {
      return trees.tree_of(other.first).folded.front() == along;
    };
    const bool tiled = std::ranges::any_of(
        ways.tiles, [&](const Tile &tile) { return tile.chunks.contains(along); });
    const bool scanned = std::ranges::any_of(trees.folds(), [&](NodeId id) {
      return request.spec.graph[id].kind == NodeKind::Scan &&
             trees.tree_of(id).folded.front() == along;
    });
    if (tiled || scanned || std::ranges::any_of(ways.sweeps, is_along)) continue;
    std::vector<ClassId> all = trees.classes_of(fold);
    all.insert(all.end(), along.begin(), along.end());
    const auto args = request.spec.graph.folded_args(fold);
    if (!trees.inputs_over(all, args).empty()) continue; // which is read once, anyway
    double results = 1, step = 0; // bytes: of a chunk's results, and of the operands of a step
    for (const DType state : request.spec.graph.recipe(fold).states)
      results += double(size_of(state));
    for (const Group &group : tree.kept) results *= double(group_extent(resolved, group));
    for (const std::uint32_t input : trees.inputs_over(along, args)) {
      double bytes = double(size_of(request.spec.inputs[input].dtype));
      for (const Group &group : tree.kept)
        if (stride_along(request.walks.inputs[input], group) != 0)
          bytes *= double(group_extent(resolved, group));
      step += bytes;
    }
    const double near = double(machine.own_caches) * part_of_caches_for_products;
    const auto most = std::int64_t(near / std::max(step, 1.));
    const double extent = double(group_extent(resolved, along));
    std::vector<Group> path = tree.kept;
    path.push_back(along);
    if (!cuts.has(path)) {
      if (step * extent <= double(machine.own_caches) ||
          step * double(tree.leaf()) > double(machine.own_caches) ||
          results * most_results_of_products > near)
        continue;
      cuts.paths.push_back(path);
      std::int64_t &least = cuts.chunks[along].least;
      least = std::max(least, tree.leaf());
      why.add([&] {
        const std::string name = group_name(resolved, along);
        return decide(Reason::FewPositionsKept, name, "in chunks",
                      fmt::format("{} is folded in chunks that are joined at the end: a core's own "
                                  "caches hold the operands of a chunk, and all results go through "
                                  "it",
                                  name),
                      {{"uncut",
                        "each tile of the results would go through all operands",
                        {.bytes = step * extent}}});
      });
    }
    cuts.chunks[along].most = most;
    cuts.around.insert(along);
  }
}

Cuts all_cuts(const Request &request, const Trees &trees, Cuts cuts, const Ways &ways) {
  const auto add = [&](const std::vector<Group> &path) {
    if (!cuts.has(path)) cuts.paths.push_back(path);
  };
  for (const auto &[fold, loops] : ways.sweeps) {
    const Group &along = trees.tree_of(fold).folded.front();
    cuts.chunks[along] = {ChunkKind::SweptLeaf, steps_per_leaf};
    add({loops.begin(), std::find(loops.begin(), loops.end(), along) + 1});
  }
  // A scan runs in the chunks of a fold, too, and its blocks are their size then.
  for (const NodeId scan : trees.folds()) {
    if (request.spec.graph[scan].kind != NodeKind::Scan ||
        !request.spec.graph.recipe(scan).has_combine())
      continue;
    const Trees::Tree &tree = trees.tree_of(scan);
    std::vector<Group> path = tree.kept;
    path.push_back(tree.folded.front());
    if (cuts.has(path, scan_block)) cuts.chunks[path.back()] = {ChunkKind::ScanBlock, scan_block};
  }
  for (const Tile &tile : ways.tiles)
    for (const auto &[group, chunks] : tile.chunks) cuts.chunks[group] = chunks;
  return cuts;
}

std::map<Group, std::int64_t> choose_chunk_sizes(const Request &request, const Machine &machine,
                                                 const Cuts &cuts, const Nests &nests) {
  // Each warp of a GPU has its chunk, of a leaf or more, and all of a warp join what they come to.
  const bool warps = machine.warp > 0;
  const double least = warps ? 0 : least_chunk,
               most = warps ? std::max(most_chunks, double(machine.threads)) : most_chunks;
  std::map<Group, std::int64_t> sizes;
  for (const Item &item : nests.items) {
    if (item.kind != ItemKind::Fold && item.kind != ItemKind::Scan) continue;
    if (item.loop.kind != LoopKind::Within) continue;
    std::int64_t &size = sizes[item.loop.group];
    const bool near = cuts.around.contains(item.loop.group);
    size = std::max(size, item.leaf > 0 ? item.leaf : near ? steps_per_leaf : exact_leaf);
  }
  for (auto &[group, size] : sizes) {
    const Chunks &chunks = cuts.chunks.at(group);
    if (chunks.kind != ChunkKind::Leaves) continue;
    const double extent = double(group_extent(request.resolved, group));
    double inner = 1; // positions of the loops inside
    for (const TreeNode &node : nests.tree)
      if (node.parent && node.key.kind == LoopKind::Plain && nests[*node.parent].parent &&
          nests[*node.parent].key.group == group)
        inner = std::max(inner, double(group_extent(request.resolved, node.key.group)));
    const bool asked = asks_for_threads(request, group); // few positions, all the same
    while ((!asked && double(size) * inner < least) || double(size) * most < extent) {
      if (double(size) >= extent || (chunks.most > 0 && 2 * size > chunks.most)) break;
      size *= 2;
    }
  }
  for (const auto &[group, chunks] : cuts.chunks)
    if (chunks.kind != ChunkKind::Leaves) sizes[group] = chunks.least;
  return sizes;
}

} // namespace broadloom::plan
