// Arranging, what is stored: held values and outputs.
#include "plan/arranger.hpp"
#include "plan/thresholds.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::plan {

using support::decide;
using support::Reason;

void Arranger::add_holds_below(NodeId limit) {
  const std::vector<Held> &values = ways_.holds.values;
  for (; next_held_ < values.size() && values[next_held_].value < limit; ++next_held_) {
    const Held &held = values[next_held_];
    Item item = hold(held.value);
    item.needs = needs_of({&held.value, 1});
    item.path =
        path_of(trees_.kept_groups(trees_.component_of(held.value), trees_.classes_of(held.value)));
    nests_.item_of_held[held.value.index] = nests_.add(std::move(item));
    why_.add([&] { return held.why; });
  }
}

// Their arrays are filled in the order of their own axes, before all else.
void Arranger::add_repeated() {
  nests_.item_of_input.assign(request_.spec.inputs.size(), std::nullopt);
  for (std::size_t k = 0; k < request_.walks.repeated.size(); ++k) {
    const Repeated &repeated = request_.walks.repeated[k];
    Item item = hold(node_of_input(repeated.input));
    item.repeated = k;
    for (ClassId c : repeated.classes) item.path.push_back({LoopKind::Plain, {c}});
    nests_.item_of_input[repeated.input] = nests_.add(std::move(item));
  }
}

void Arranger::add_panels() {
  nests_.item_of_panel.assign(request_.spec.inputs.size(), std::nullopt);
  for (std::size_t k = 0; k < ways_.panels.arrays.size(); ++k) {
    const Panel &panel = ways_.panels.arrays[k];
    Item item = hold(node_of_input(panel.input));
    item.panel = k;
    item.path = panel.path;
    nests_.item_of_panel[panel.input] = nests_.add(std::move(item));
  }
}

Item Arranger::hold(NodeId value) {
  Item item;
  item.kind = ItemKind::Hold;
  item.value = value;
  item.scratch = nests_.scratch_count++;
  return item;
}

NodeId Arranger::node_of_input(std::uint32_t input) const {
  NodeId found;
  for (std::uint32_t n = 0; n < request_.spec.graph.size(); ++n)
    if (request_.spec.graph[NodeId{n}].kind == NodeKind::Input &&
        request_.spec.graph[NodeId{n}].payload == input)
      found = NodeId{n};
  return found;
}

void Arranger::add_store(std::size_t output) {
  Item item;
  item.kind = ItemKind::Store;
  item.output = output;
  const std::vector<ClassId> classes = trees_.output_classes(output);
  item.needs =
      needs_of({&request_.spec.outputs[output].addend, 1}, ways_.holds.use_of_output[output]);
  for (std::uint32_t input : trees_.inputs_over({}, {&request_.spec.outputs[output].addend, 1}))
    if (const auto repeat = nests_.item_of_input[input]) item.needs.push_back(*repeat);
  const std::vector<Group> groups = store_groups(output, classes, item.needs);
  const bool only_repeats = std::all_of(item.needs.begin(), item.needs.end(), [&](ItemId need) {
    return nests_[need].repeated.has_value();
  });
  item.path = only_repeats ? store_path(groups) : path_of(groups);
  // What is made of a product goes along with it, from panel to panel; but functions there would
  // take the registers of its tile.
  for (const auto &[fold, path] : ways_.panels.folds) {
    const std::optional<ItemId> product = nests_.item_of_fold[fold.index];
    if (product && std::ranges::find(item.needs, *product) != item.needs.end() &&
        groups_of(path) == groups && !calls_functions(request_.spec.outputs[output].addend))
      item.path = path;
  }
  make_rows_short(item.path, groups);
  nests_.items.push_back(std::move(item));
}

void Arranger::make_rows_short(std::vector<LoopKey> &path, const std::vector<Group> &groups) const {
  const bool along = std::any_of(ways_.short_rows.begin(), ways_.short_rows.end(),
                                 [&](const auto &rows) { return rows.second == groups; });
  if (!along) return;
  make_vector(path, groups[groups.size() - 2]);
  path.back().turns = int(group_extent(request_.resolved, groups.back()));
}

std::vector<LoopKey> Arranger::store_path(const std::vector<Group> &groups) const {
  for (const Tile &tile : ways_.tiles)
    if (tile.loops == groups) return tile.path;
  return path_of(groups);
}

std::vector<Group> Arranger::store_groups(std::size_t output, const std::vector<ClassId> &classes,
                                          const std::vector<ItemId> &needs) {
  const std::vector<Group> own = trees_.output_groups(output);
  for (ItemId need : needs)
    if (const Item &scan = nests_[need]; scan.kind == ItemKind::Scan)
      if (const auto groups = loops_over(scan, classes); !groups.empty()) return groups;
  if (own.size() < 2 || request_.generic) return own;
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
    why_.add([&] {
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

bool Arranger::calls_functions(NodeId root) const {
  bool calls = false;
  reach({&root, 1}, [&](NodeId id) {
    const expr::Node &node = request_.spec.graph[id];
    if (calls || trees_.is_fold(id)) return false;
    calls = node.kind == NodeKind::Op && ops::info(node.op).is_function();
    return true;
  });
  return calls;
}

std::vector<Group> Arranger::groups_of(const std::vector<LoopKey> &path) {
  std::vector<Group> groups;
  for (const LoopKey &key : path)
    if (key.kind == LoopKind::Plain || key.kind == LoopKind::Within) groups.push_back(key.group);
  return groups;
}

std::vector<Group> Arranger::loops_over(const Item &item, const std::vector<ClassId> &classes) {
  std::vector<Group> groups = groups_of(item.path);
  std::vector<ClassId> covered;
  groups.push_back(item.loop.group);
  for (const Group &group : groups) covered.insert(covered.end(), group.begin(), group.end());
  if (std::is_permutation(covered.begin(), covered.end(), classes.begin(), classes.end()))
    return groups;
  return {};
}

} // namespace broadloom::plan
