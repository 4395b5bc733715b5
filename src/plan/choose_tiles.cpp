// Choosing tiles and blocks for stores: see choose.hpp.
#include "plan/choose.hpp"

#include "plan/thresholds.hpp"
#include "plan/wishes.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace broadloom::plan {

using support::decide;
using support::Reason;

namespace {

class TileChooser {
public:
  TileChooser(const Request &request, const Trees &trees, const Machine &machine, Why &why)
      : request_(request), resolved_(request.resolved), trees_(trees), machine_(machine),
        why_(why) {}

  // What the schedule asks for: tile by tile, and within each the loops as they are nested without
  // it.
  //
  //   tile i 64; tile j 256     i.chunk, j.chunk, i, j
  //   tile j 256                j.chunk, i, j
  std::optional<Tile> asked(std::size_t output) const {
    const std::vector<Group> loops = trees_.output_groups(output);
    Tile tile{loops, {}};
    for (const Group &group : loops) {
      const std::int64_t side = asked_tile(request_, group);
      if (side == 0 || side >= extent(group)) continue;
      tile.path.push_back({LoopKind::Chunks, group});
      tile.chunks[group] = {ChunkKind::TileSide, side};
    }
    if (tile.path.empty()) return std::nullopt;
    for (const Group &group : loops)
      tile.path.push_back(
          {tile.chunks.contains(group) ? LoopKind::Within : LoopKind::Plain, group});
    return tile;
  }

  // Operands that lie the other way round are walked in tiles, by all stores with these loops.
  std::optional<Tile> across(std::size_t output) const {
    const std::string &name = request_.spec.outputs[output].name;
    const expr::NodeId root = request_.spec.outputs[output].addend;
    const std::vector<Group> loops = trees_.output_groups(output);
    if (loops.size() < 2) return std::nullopt;
    const Group &inner = loops.back();
    std::vector<const Steps *> operands{&request_.walks.outputs[output]};
    for (std::uint32_t input : trees_.inputs_over({}, {&root, 1}))
      operands.push_back(&request_.walks.inputs[input]);
    bool across = false; // some operand lies so, but a side is short
    for (const Steps *steps : operands) {
      if (std::abs(stride_along(*steps, inner)) <= 1) continue;
      for (const Group &side : loops) {
        if (side == inner || stride_along(*steps, side) != 1) continue;
        across = true;
        if (extent(side) < shortest_side || extent(inner) < shortest_side) continue;
        explain_tile(name, loops, side);
        return tile_of(loops, {side, inner});
      }
    }
    why_.add([&] {
      const std::string reason = across ? "an axis is shorter than a line of the cache is worth"
                                        : "no operand lies across";
      return decide(across ? Reason::ShortTileSides : Reason::SideBySide, name, "no tiles",
                    fmt::format("'{}' is walked without tiles: {}", name, reason),
                    {{"tiles", reason}});
    });
    return std::nullopt;
  }

  // Few elements in the innermost axis would leave most lanes of a vector idle: a longer one takes
  // its place, in blocks that stay in the caches while the short one goes round.
  std::optional<Tile> short_rows(std::size_t output) const {
    const std::vector<Group> loops = trees_.output_groups(output);
    if (loops.size() < 2 || extent(loops.back()) >= shortest_vector ||
        asks_for_lanes(request_, loops.back()))
      return std::nullopt;
    const Group *longest = &loops[0];
    for (const Group &group : loops)
      if (extent(group) > extent(*longest)) longest = &group;
    if (extent(*longest) < shortest_line) return std::nullopt;
    why_.add([&] {
      const std::string lanes = group_name(resolved_, *longest),
                        row = group_name(resolved_, loops.back());
      return decide(Reason::ShortInnermostAxis, request_.spec.outputs[output].name,
                    fmt::format("blocks of {} of {}", tile_side, lanes),
                    fmt::format("{} is the vector axis, in blocks of {}: {} has {} positions only",
                                lanes, tile_side, row, extent(loops.back())),
                    {{"lanes along " + row, "most of them would be idle"}});
    });
    return tile_of(loops, {*longest});
  }

private:
  std::int64_t extent(const Group &group) const { return group_extent(resolved_, group); }

  // The positions of a tile are walked inside of all other loops.
  static Tile tile_of(const std::vector<Group> &loops, const std::vector<Group> &sides) {
    Tile tile{loops, {}};
    for (const Group &side : sides) tile.chunks[side] = {ChunkKind::TileSide, tile_side};
    for (const Group &group : loops)
      tile.path.push_back(
          {tile.chunks.contains(group) ? LoopKind::Chunks : LoopKind::Plain, group});
    for (const Group &side : sides) tile.path.push_back({LoopKind::Within, side});
    return tile;
  }

  void explain_tile(const std::string &output, const std::vector<Group> &loops,
                    const Group &side) const {
    why_.add([&] {
      const std::string outer = group_name(resolved_, side),
                        inner = group_name(resolved_, loops.back());
      double positions = 1;
      for (const Group &group : loops) positions *= double(extent(group));
      return decide(Reason::OperandAcross, output,
                    fmt::format("{} by {} of {} and {}", tile_side, tile_side, outer, inner),
                    fmt::format("{} and {} are walked in tiles of {} by {}: not every operand of "
                                "'{}' has its elements side by side along {}",
                                outer, inner, tile_side, tile_side, output, inner),
                    {{"rows as they are",
                      "each line of memory fetched would leave the caches before "
                      "its other elements are used",
                      {.bytes = double(machine_.cache_line) * positions}}});
    });
  }

  const Request &request_;
  const Resolved &resolved_;
  const Trees &trees_;
  const Machine &machine_;
  Why &why_;
};

Decision explain_repeated(const Request &request, const Repeated &repeated) {
  const std::string &name = request.spec.inputs[repeated.input].name;
  const Group inner{repeated.classes.back()};
  const std::string short_axis = group_name(request.resolved, inner),
                    axes = group_name(request.resolved,
                                      repeated.block > 0 ? repeated.loop : repeated.classes);
  const std::string blocks =
      repeated.block > 0 ? fmt::format(", in blocks of {} positions", repeated.block) : "";
  return decide(
      Reason::ShortOperandRepeated, name, "repeated along " + axes + blocks,
      fmt::format(
          "'{}' is written out along {}{}, so that {} is one axis: {} has {} positions only", name,
          axes, blocks, axes, short_axis, group_extent(request.resolved, inner)),
      {{"lanes along " + short_axis, "most of them would be idle"}},
      {.bytes = double(group_extent(request.resolved, repeated.classes)) *
                double(size_of(request.spec.inputs[repeated.input].dtype))});
}

} // namespace

std::vector<Tile> choose_tiles(const Request &request, const Trees &trees, const Machine &machine,
                               Why &why) {
  const TileChooser chooser(request, trees, machine, why);
  std::vector<Tile> tiles;
  // Where there are folds, stores may share their loops.
  for (std::size_t k = 0; k < request.spec.outputs.size() && trees.folds().empty(); ++k) {
    if (!request.wanted[k]) continue;
    std::optional<Tile> tile = chooser.asked(k);
    if (!tile) tile = chooser.across(k);
    if (!tile) tile = chooser.short_rows(k);
    if (tile) tiles.push_back(std::move(*tile));
  }
  // The loop that reads an operand that is repeated for a block goes from block to block.
  for (const Repeated &repeated : request.walks.repeated) {
    why.add([&] { return explain_repeated(request, repeated); });
    if (repeated.block == 0) continue;
    const Group &loop = repeated.loop;
    tiles.push_back({{loop},
                     {{LoopKind::Chunks, loop}, {LoopKind::Within, loop}},
                     {{loop, {ChunkKind::RepeatBlock, repeated.block}}}});
  }
  return tiles;
}

} // namespace broadloom::plan
