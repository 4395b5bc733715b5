// Components, see trees.hpp: which outputs share what they read, and the order in which each
// component nests its classes.
#include "plan/trees.hpp"

#include "plan/thresholds.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace broadloom::plan {

using expr::NodeId;
using expr::NodeKind;

// A walk from each output: where it meets what another output reads, the two are one component.
void Trees::find_components() {
  const expr::Graph &graph = request_.spec.graph;
  const std::vector<spec::TypedOutput> &outputs = request_.spec.outputs;
  std::vector<std::size_t> leader(outputs.size());
  std::iota(leader.begin(), leader.end(), 0);
  const auto find = [&](std::size_t k) {
    while (leader[k] != k) k = leader[k] = leader[leader[k]];
    return k;
  };
  const auto join = [&](std::size_t a, std::size_t b) {
    leader[std::max(find(a), find(b))] = std::min(find(a), find(b));
  };
  std::vector<std::optional<std::size_t>> met(graph.size()), met_input(request_.spec.inputs.size());
  std::optional<std::size_t> first;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!request_.wanted[k]) continue;
    if (!first) first = k;
    if (!request_.spec.pairings.empty()) join(*first, k); // some may be to share their loops
    std::vector<NodeId> work{outputs[k].addend};
    while (!work.empty()) {
      const NodeId id = work.back();
      work.pop_back();
      const expr::Node &node = graph[id];
      if (node.kind == NodeKind::Literal) continue;
      if (met[id.index]) {
        join(*met[id.index], k);
        continue;
      }
      met[id.index] = k;
      if (node.kind == NodeKind::Input) {
        std::optional<std::size_t> &reader = met_input[node.payload];
        if (reader) join(*reader, k);
        reader = k;
      }
      for (NodeId arg : graph.operands(id)) work.push_back(arg);
    }
  }
  component_of_.resize(graph.size());
  component_of_output_.resize(outputs.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!request_.wanted[k]) continue;
    if (find(k) == k) {
      component_of_output_[k] = {std::uint32_t(components_.size())};
      components_.emplace_back();
    }
    component_of_output_[k] = component_of_output_[find(k)];
    components_[component_of_output_[k].index].outputs.push_back(k);
  }
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    if (!met[n]) continue;
    component_of_[n] = component_of_output_[*met[n]];
    Component &component = components_[component_of_[n].index];
    component.nodes.push_back(NodeId{n});
    if (is_fold_[n]) component.folds.push_back(NodeId{n});
  }
}

std::vector<const Steps *> Trees::operands_of(const Component &component) const {
  std::vector<const Steps *> operands;
  for (NodeId id : component.nodes)
    if (request_.spec.graph[id].kind == NodeKind::Input)
      operands.push_back(&request_.walks.inputs[request_.spec.graph[id].payload]);
  for (std::size_t k : component.outputs) operands.push_back(&request_.walks.outputs[k]);
  return operands;
}

// Those of its operands, of its outputs, and of what reads positions; by axis.
std::vector<ClassId> Trees::classes_of(const Component &component) const {
  std::vector<ClassId> classes;
  for (const Steps *steps : component.operands)
    for (const Step &step : *steps) classes.push_back(step.cls);
  const auto add = [&](const std::vector<ClassId> &more) {
    classes.insert(classes.end(), more.begin(), more.end());
  };
  for (NodeId id : component.nodes) add(classes_of(id));
  for (std::size_t k : component.outputs) add(output_classes(k));
  const auto by_axis = [&](ClassId c) { return std::pair(request_.resolved[c].axis, c); };
  std::erase_if(classes, [&](ClassId c) { return !request_.resolved[c].axis; });
  std::ranges::sort(classes, {}, by_axis);
  const auto again = std::ranges::unique(classes);
  classes.erase(again.begin(), again.end());
  return classes;
}

// The order, and for each class whether it merges with the one before it.
void Trees::order_classes(Component &component) {
  component.operands = operands_of(component);
  component.by_stride = sort_by_stride(classes_of(component), component.operands);
  set_order(component, component.by_stride);
  if (!request_.spec.wishes.moves_loops()) {
    if (std::optional<std::vector<ClassId>> order = tile_order(component))
      set_order(component, std::move(*order));
    return;
  }
  set_order(component, asked_order(component));
  // A kept axis whose lanes take a short row each stays outside of the row.
  const auto asked = [&](ClassId c) {
    return request_.resolved[c].axis == request_.spec.wishes.vector;
  };
  const std::vector<int> &wished = request_.spec.wishes.order;
  const bool others_inside =
      std::ranges::any_of(wished, [&](int axis) { return axis == request_.spec.wishes.vector; }) &&
      wished.back() != request_.spec.wishes.vector;
  if (!request_.spec.wishes.vector || others_inside ||
      has_short_rows(component, *request_.spec.wishes.vector))
    return;
  std::vector<ClassId> order;
  for (const bool inside : {false, true})
    for (ClassId c : component.order)
      if (asked(c) == inside) order.push_back(c);
  set_order(component, std::move(order));
}

// A convolution y[n, o, i, j] of x[n, c, i + k, j + l] * w[o, c, k, l] has lanes along j. Rows of a
// register tile along i would load x anew for each row; along o they share what they load. So o
// moves next to j: n, i, o, j. Nothing moves where what lanes load is shared along their neighbour.
std::optional<std::vector<ClassId>> Trees::tile_order(const Component &component) const {
  if (request_.generic || component.folds.size() != 1) return std::nullopt;
  const NodeId fold = component.folds[0];
  const Tree tree = make_tree(fold);
  if (request_.spec.graph[fold].kind != NodeKind::Fold || tree.ways || tree.kept.size() < 3 ||
      tree.kept.back().size() != 1)
    return std::nullopt;
  const ClassId lanes = tree.kept.back()[0];
  if (component.order.back() != lanes || request_.resolved[lanes].extent < shortest_side)
    return std::nullopt;
  std::vector<const Steps *> loaded, repeated; // along the lanes, and for all of them
  for (const NodeId arg : request_.spec.graph.folded_args(fold))
    for (const std::uint32_t input : reads_of(arg).inputs) {
      const Steps &steps = request_.walks.inputs[input];
      const std::int64_t stride = stride_along(steps, lanes);
      if (stride != 0 && stride != 1) return std::nullopt;
      (stride == 1 ? loaded : repeated).push_back(&steps);
    }
  const auto walks = [](ClassId c) {
    return [c](const Steps *steps) { return stride_along(*steps, c) != 0; };
  };
  const auto is_shared = [&](ClassId c) { // what is loaded, by all positions of c
    return std::ranges::none_of(loaded, walks(c)) && std::ranges::any_of(repeated, walks(c));
  };
  const auto makes_tiles = [&](ClassId c) {
    return is_shared(c) && request_.resolved[c].extent >= fewest_tile_rows;
  };
  if (loaded.empty() || makes_tiles(tree.kept[tree.kept.size() - 2].back())) return std::nullopt;
  for (std::size_t g = tree.kept.size() - 2; g-- > 0;) {
    const ClassId c = tree.kept[g].back();
    if (tree.kept[g].size() > 1 || !makes_tiles(c)) continue;
    std::vector<ClassId> order = component.order;
    order.erase(std::ranges::find(order, c));
    order.insert(std::ranges::find(order, lanes), c);
    return order;
  }
  return std::nullopt;
}

// The axes that `order` names change places among themselves.
std::vector<ClassId> Trees::asked_order(const Component &component) const {
  const std::vector<int> &wished = request_.spec.wishes.order;
  const auto is_of = [&](ClassId c, int axis) { return request_.resolved[c].axis == axis; };
  std::vector<ClassId> named, order = component.order;
  for (int axis : wished)
    for (ClassId c : component.order)
      if (is_of(c, axis)) named.push_back(c);
  auto next = named.begin();
  for (ClassId &c : order)
    if (std::ranges::any_of(wished, [&](int axis) { return is_of(c, axis); })) c = *next++;
  return order;
}

// Whether a fold of short rows keeps this axis, so that each lane can take a row:
// choose_short_rows.
bool Trees::has_short_rows(const Component &component, int axis) const {
  for (const NodeId fold : component.folds) {
    if (request_.spec.graph[fold].kind != NodeKind::Fold) continue;
    const Tree tree = make_tree(fold);
    if (!tree.ways || group_extent(request_.resolved, tree.folded.back()) > longest_short_row)
      continue;
    for (const Group &group : tree.kept)
      for (ClassId c : group)
        if (request_.resolved[c].axis == axis) return true;
  }
  return false;
}

void Trees::set_order(Component &component, std::vector<ClassId> order) const {
  component.order = std::move(order);
  component.joins_previous.assign(component.order.size(), false);
  for (std::size_t k = 0; k < component.order.size(); ++k) {
    const ClassId c = component.order[k];
    component.place[c] = k;
    if (k > 0) component.joins_previous[k] = all_merge(component, component.order[k - 1], c);
  }
}

bool Trees::all_merge(const Component &component, ClassId outer, ClassId inner) const {
  if (!merges(outer, inner, request_.resolved, component.operands) || asked_apart(outer, inner))
    return false;
  for (const NodeId id : component.nodes)
    if (is_index_of(id, outer, inner)) return false;
  for (const NodeId fold : component.folds) {
    const auto kept = classes_of(fold);
    const bool has_outer = std::count(kept.begin(), kept.end(), outer) > 0;
    const bool has_inner = std::count(kept.begin(), kept.end(), inner) > 0;
    if (has_outer != has_inner) return false;
    if (request_.spec.graph[fold].kind == NodeKind::Scan)
      for (ClassId c : folded_classes(fold))
        if (c == outer || c == inner) return false;
  }
  return true;
}

// Whether the schedule asks for other blocks or cuts along one than along the other, or for tiles,
// which each have a side.
bool Trees::asked_apart(ClassId outer, ClassId inner) const {
  const spec::Wishes &wishes = request_.spec.wishes;
  const int a = *request_.resolved[outer].axis, b = *request_.resolved[inner].axis;
  return wishes.side_of(a) > 0 || wishes.side_of(b) > 0 ||
         wishes.parallel.has(a) != wishes.parallel.has(b) ||
         wishes.serial.has(a) != wishes.serial.has(b) ||
         wishes.copies_of(a) != wishes.copies_of(b) || wishes.tile_of(a) != wishes.tile_of(b);
}

// The index along an axis is the position of a loop over that axis alone.
bool Trees::is_index_of(NodeId id, ClassId outer, ClassId inner) const {
  if (request_.spec.graph[id].kind != NodeKind::Index) return false;
  const auto cls = request_.resolved.index_class(request_.spec, id);
  return cls == outer || cls == inner;
}

// The whole, of which this is a part, asks for positions along it.
bool Trees::is_apart(NodeId fold, ClassId cls) const {
  const auto at = request_.spec.apart.find(fold);
  const std::optional<int> axis = request_.resolved[cls].axis;
  return at != request_.spec.apart.end() && axis && at->second.has(*axis);
}

std::vector<ClassId> Trees::by_stride() const {
  std::vector<ClassId> classes;
  for (const Component &component : components_)
    for (ClassId c : component.by_stride)
      if (std::ranges::find(classes, c) == classes.end()) classes.push_back(c);
  return classes;
}

} // namespace broadloom::plan
