// Arranging, what is stored: held values and outputs.
#include "plan/arranger.hpp"
#include "support/reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace broadloom::plan {

using support::decide;
using support::Reason;

void Arranger::hold_values(const std::vector<NodeId> &folds) {
  std::vector<Use> uses;
  for (NodeId fold : folds) {
    const auto args = request_.spec.graph.args(fold);
    const Tree tree = trees_.tree_of(fold);
    use_of_fold_.emplace(fold.index, uses.size());
    uses.push_back({{args.begin(), args.end()}, tree.kept});
    for (const Group &group : tree.folded) uses.back().loops.push_back(group);
    if (const auto nest = swept_.find(fold.index); nest != swept_.end())
      uses.back().loops = nest->second;
  }
  for (std::size_t k = 0; k < request_.spec.outputs.size(); ++k) {
    use_of_output_.push_back(uses.size());
    if (request_.wanted[k])
      uses.push_back(
          {{request_.spec.outputs[k].addend}, trees_.kept_groups(output_classes(int(k)))});
  }
  HoldChoice chosen = choose_held(request_, trees_, uses, machine_);
  for (Held &held : chosen.held)
    if (can_be_walked(held, uses)) held_.push_back(std::move(held));
  if (chosen.again_cycles > 0) nests_.why.add([&] { return explain_again(chosen); });
}

Decision Arranger::explain_again(const HoldChoice &chosen) const {
  const bool asked = std::any_of(request_.spec.marks.begin(), request_.spec.marks.end(),
                                 [](const spec::Mark &mark) { return !mark.keep; });
  return decide(
      Reason::RecomputeCheaper, "values", "computed where they are needed",
      fmt::format("values are computed again where they are needed, for {:.3g} cycles: {}",
                  chosen.again_cycles,
                  asked ? "recompute() says so, or it is cheaper" : "it is cheaper"),
      {{"held in memory", "traffic and a phase more", {.cycles = chosen.cut_cycles}}},
      {.cycles = chosen.again_cycles});
}

bool Arranger::can_be_walked(const Held &held, const std::vector<Use> &uses) const {
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

void Arranger::add_holds_below(NodeId limit) {
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
    nests_.why.add([&] { return held.why; });
  }
}

// Their arrays are filled in the order of their own axes, before all else.
void Arranger::add_repeated() {
  nests_.item_of_input.assign(request_.spec.inputs.size(), -1);
  for (std::size_t k = 0; k < request_.walks.repeated.size(); ++k) {
    const Repeated &repeated = request_.walks.repeated[k];
    Item item;
    item.kind = ItemKind::Hold;
    item.repeated = int(k);
    for (std::uint32_t n = 0; n < request_.spec.graph.size(); ++n)
      if (request_.spec.graph[NodeId{n}].kind == NodeKind::Input &&
          request_.spec.graph[NodeId{n}].payload == repeated.input)
        item.value = NodeId{n};
    for (int c : repeated.classes) item.path.push_back({LoopKind::Plain, {c}});
    item.scratch = nests_.scratch_count++;
    nests_.item_of_input[repeated.input] = int(nests_.items.size());
    nests_.items.push_back(std::move(item));
    if (repeated.block > 0) note_blocks(repeated);
    nests_.why.add([&] {
      const std::string name = request_.spec.inputs[repeated.input].name,
                        inner = group_name(request_.resolved, {repeated.classes.back()});
      const Group &loop = repeated.block > 0 ? repeated.loop : repeated.classes;
      const std::string axes = group_name(request_.resolved, loop);
      const std::string blocks =
          repeated.block > 0 ? fmt::format(", in blocks of {} positions", repeated.block) : "";
      return decide(
          Reason::ShortOperandRepeated, name, "repeated along " + axes + blocks,
          fmt::format(
              "'{}' is written out along {}{}, so that {} is one axis: {} has {} positions only",
              name, axes, blocks, axes, inner,
              group_extent(request_.resolved, {repeated.classes.back()})),
          {{"lanes along " + inner, "most of them would be idle"}},
          {.bytes = double(group_extent(request_.resolved, repeated.classes)) *
                    double(size_of(request_.spec.inputs[repeated.input].dtype))});
    });
  }
}

// The loop that reads such an array goes from block to block.
void Arranger::note_blocks(const Repeated &repeated) {
  const Group &group = repeated.loop;
  const auto known = std::any_of(tiles_.begin(), tiles_.end(), [&](const Tile &tile) {
    return tile.loops == std::vector<Group>{group};
  });
  if (known) return;
  tiles_.push_back({{group}, {{LoopKind::Chunks, group}, {LoopKind::Within, group}}});
  nests_.blocks.emplace_back(group, repeated.block);
}

bool Arranger::waits(std::size_t use, NodeId value) const {
  return use != no_use && std::any_of(held_.begin(), held_.end(), [&](const Held &held) {
           return held.value == value && held.waits[use];
         });
}

std::vector<int> Arranger::output_classes(int output) const {
  std::vector<int> classes;
  for (int c : request_.resolved.output_classes[output])
    if (c != one) classes.push_back(c);
  return classes;
}

void Arranger::add_store(int output) {
  Item item;
  item.kind = ItemKind::Store;
  item.output = output;
  const std::vector<int> classes = output_classes(output);
  item.needs =
      needs_of({&request_.spec.outputs[output].addend, 1}, use_of_output_[std::size_t(output)]);
  for (std::uint32_t input : trees_.inputs_over({}, {&request_.spec.outputs[output].addend, 1}))
    if (nests_.item_of_input[input] >= 0) item.needs.push_back(nests_.item_of_input[input]);
  const std::vector<Group> groups = store_groups(output, classes, item.needs);
  const bool only_repeats = std::all_of(item.needs.begin(), item.needs.end(), [&](int need) {
    return nests_.items[std::size_t(need)].repeated >= 0;
  });
  item.path = only_repeats ? store_path(groups) : path_of(groups);
  make_rows_short(item.path, groups);
  nests_.items.push_back(std::move(item));
}

void Arranger::make_rows_short(std::vector<LoopKey> &path, const std::vector<Group> &groups) const {
  const bool along = std::any_of(short_rows_.begin(), short_rows_.end(),
                                 [&](const auto &rows) { return rows.second == groups; });
  if (!along) return;
  make_vector(path, groups[groups.size() - 2]);
  path.back().turns = int(group_extent(request_.resolved, groups.back()));
}

void Arranger::note_tile(int output) {
  const NodeId root = request_.spec.outputs[output].addend;
  const std::vector<Group> loops = trees_.kept_groups(output_classes(output));
  if (loops.size() < 2) return;
  const Group &inner = loops.back();
  std::vector<const Steps *> operands{&request_.walks.outputs[output]};
  for (std::uint32_t input : trees_.inputs_over({}, {&root, 1}))
    operands.push_back(&request_.walks.inputs[input]);
  double positions = 1;
  for (const Group &group : loops) positions *= double(group_extent(request_.resolved, group));
  bool across = false; // some operand lies so, but a side is short
  for (const Steps *steps : operands) {
    if (std::abs(stride_along(*steps, inner)) <= 1) continue;
    for (const Group &side : loops) {
      if (side == inner || stride_along(*steps, side) != 1) continue;
      across = true;
      if (group_extent(request_.resolved, side) < shortest_line ||
          group_extent(request_.resolved, inner) < shortest_line)
        continue;
      Tile tile{loops, {}};
      for (const Group &group : loops) {
        const bool cut = group == side || group == inner;
        tile.path.push_back({cut ? LoopKind::Chunks : LoopKind::Plain, group});
      }
      tile.path.push_back({LoopKind::Within, side});
      tile.path.push_back({LoopKind::Within, inner});
      tiles_.push_back(std::move(tile));
      nests_.tiled.push_back(side);
      nests_.tiled.push_back(inner);
      nests_.why.add([&] {
        return decide(
            Reason::OperandAcross, request_.spec.outputs[output].name,
            fmt::format("{} by {} of {} and {}", tile_side, tile_side,
                        group_name(request_.resolved, side), group_name(request_.resolved, inner)),
            fmt::format("{} and {} are walked in tiles of {} by {}: not every operand of "
                        "'{}' has its elements side by side along {}",
                        group_name(request_.resolved, side), group_name(request_.resolved, inner),
                        tile_side, tile_side, request_.spec.outputs[output].name,
                        group_name(request_.resolved, inner)),
            {{"rows as they are",
              "each line of memory fetched would leave the caches before "
              "its other elements are used",
              {.bytes = double(machine_.cache_line) * positions}}});
      });
      return;
    }
  }
  const std::string reason =
      across ? "an axis is shorter than a line of the cache is worth" : "no operand lies across";
  nests_.why.add([&] {
    return decide(
        across ? Reason::ShortTileSides : Reason::SideBySide, request_.spec.outputs[output].name,
        "no tiles",
        fmt::format("'{}' is walked without tiles: {}", request_.spec.outputs[output].name, reason),
        {{"tiles", reason}});
  });
}

// Few elements in the innermost axis would leave most lanes of a vector idle: a longer one takes its place, in blocks
// that stay in the caches while the short one goes round.
void Arranger::note_short_rows(int output) {
  const std::vector<Group> loops = trees_.kept_groups(output_classes(output));
  if (loops.size() < 2 || group_extent(request_.resolved, loops.back()) >= shortest_vector ||
      asks_for_lanes(loops.back()))
    return;
  const Group *longest = &loops[0];
  for (const Group &group : loops)
    if (group_extent(request_.resolved, group) > group_extent(request_.resolved, *longest))
      longest = &group;
  if (group_extent(request_.resolved, *longest) < shortest_line) return;
  Tile tile{loops, {}};
  for (const Group &group : loops)
    tile.path.push_back({group == *longest ? LoopKind::Chunks : LoopKind::Plain, group});
  tile.path.push_back({LoopKind::Within, *longest});
  tiles_.push_back(std::move(tile));
  nests_.tiled.push_back(*longest);
  nests_.why.add([&] {
    return decide(
        Reason::ShortInnermostAxis, request_.spec.outputs[output].name,
        fmt::format("blocks of {} of {}", tile_side, group_name(request_.resolved, *longest)),
        fmt::format("{} is the vector axis, in blocks of {}: {} has {} positions only",
                    group_name(request_.resolved, *longest), tile_side,
                    group_name(request_.resolved, loops.back()),
                    group_extent(request_.resolved, loops.back())),
        {{"lanes along " + group_name(request_.resolved, loops.back()),
          "most of them would be idle"}});
  });
}

std::vector<LoopKey> Arranger::store_path(const std::vector<Group> &groups) const {
  for (const Tile &tile : tiles_)
    if (tile.loops == groups) return tile.path;
  return path_of(groups);
}

std::vector<Group> Arranger::store_groups(int output, const std::vector<int> &classes,
                                          const std::vector<int> &needs) {
  const std::vector<Group> own = trees_.kept_groups(classes);
  for (int need : needs)
    if (const Item &scan = nests_.items[need]; scan.kind == ItemKind::Scan)
      if (const auto groups = loops_over(scan, classes); !groups.empty()) return groups;
  if (own.size() < 2) return own;
  const std::vector<std::uint32_t> reads =
      trees_.inputs_over(classes, {&request_.spec.outputs[output].addend, 1});
  for (const Item &fold : nests_.items) {
    if (fold.kind != ItemKind::Fold || fold.args.empty() || fold.leaf == in_order) continue;
    const auto groups = loops_over(fold, classes);
    // What the fold walks as one the store may not, and the other way round.
    if (groups == own ||
        !std::is_permutation(groups.begin(), groups.end(), own.begin(), own.end()) ||
        groups.back() != own.back() ||
        group_extent(request_.resolved, groups.back()) < shortest_line)
      continue;
    std::vector<std::uint32_t> both;
    std::ranges::set_intersection(reads, trees_.inputs_over(classes, fold.args),
                                  std::back_inserter(both));
    if (both.empty()) continue;
    nests_.why.add([&] {
      return decide(Reason::AlongWithFold, request_.spec.outputs[output].name,
                    "the loops of the fold",
                    fmt::format("output '{}' goes along with the fold over {}: both read '{}'",
                                request_.spec.outputs[output].name,
                                group_name(request_.resolved, fold.loop.group),
                                request_.spec.inputs[both.front()].name),
                    {{"loops by stride", "would read the input again"}});
    });
    return groups;
  }
  return own;
}

std::vector<Group> Arranger::loops_over(const Item &item, const std::vector<int> &classes) {
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

} // namespace broadloom::plan
