// See trees.hpp.
#include "plan/trees.hpp"

#include "plan/thresholds.hpp"
#include "support/check.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::plan {

using expr::NodeId;
using expr::NodeKind;

Trees::Trees(const Request &request)
    : request_(request), needed_(needed_nodes(request.spec, request.wanted)),
      is_fold_(request.spec.graph.size()) {
  for (std::uint32_t n = 0; n < request.spec.graph.size(); ++n) {
    const NodeKind kind = request.spec.graph[NodeId{n}].kind;
    is_fold_[n] = (kind == NodeKind::Fold || kind == NodeKind::Scan) &&
                  (request.generic || !folded_classes(NodeId{n}).empty());
    if (is_fold_[n] && needed_[n]) folds_.push_back(NodeId{n});
  }
  find_components();
  for (Component &component : components_) order_classes(component);
  for (const NodeId fold : folds_) trees_.emplace(fold, filled_up(fold, make_tree(fold)));
}

std::int64_t Trees::Tree::leaf() const {
  return ways ? steps_per_leaf * loop::fold_ways : steps_per_leaf;
}

std::vector<Decision> Trees::explain() const {
  std::vector<Decision> why;
  for (const Component &component : components_) {
    const std::vector<ClassId> &order = component.order;
    if (order.empty()) continue;
    std::string text;
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (k > 0) text += component.joins_previous[k] ? "." : ", ";
      text += request_.resolved[order[k]].name;
    }
    const std::string names = support::joined(
        component.outputs, [&](std::size_t output) { return request_.spec.outputs[output].name; });
    const auto [reason, how] = why_ordered(component);
    const std::string whose = components_.size() == 1 ? "" : "of " + names + ": ";
    why.push_back(support::decide(reason, whose.empty() ? "" : names, text,
                                  whose + text + ": " + how +
                                      "; axes joined by a dot are walked as one by every operand"));
    for (std::size_t k = 1; k < order.size(); ++k)
      why.push_back(explain_merge(component, order[k - 1], order[k]));
  }
  return why;
}

std::pair<support::Reason, std::string> Trees::why_ordered(const Component &component) const {
  if (component.order == component.by_stride)
    return {support::Reason::DescendingStride, "by descending stride"};
  if (request_.spec.wishes.moves_loops())
    return {support::Reason::AskedOrder, "as the schedule asks"};
  const std::size_t last = component.order.size() - 1;
  return {support::Reason::RowsOfTileInside,
          fmt::format("by descending stride, but {0} next to {1}: lanes along {1} load the same "
                      "for each position of {0}",
                      request_.resolved[component.order[last - 1]].name,
                      request_.resolved[component.order[last]].name)};
}

std::vector<ClassId> Trees::classes_of(NodeId id) const {
  std::vector<ClassId> classes;
  for (int axis = 0; axis < request_.resolved.axis_count; ++axis)
    if (const auto c = request_.resolved.class_of(id, axis)) classes.push_back(*c);
  return classes;
}

std::vector<ClassId> Trees::output_classes(std::size_t output) const {
  std::vector<ClassId> classes;
  for (const std::optional<ClassId> c : request_.resolved.output_classes[output])
    if (c) classes.push_back(*c);
  return classes;
}

// In logical order. Of several arguments, some may not vary along an axis that others have.
std::vector<ClassId> Trees::folded_classes(NodeId fold) const {
  std::vector<ClassId> classes;
  for (int axis = 0; axis < request_.resolved.axis_count; ++axis)
    if (request_.resolved.folded[fold.index].has(axis))
      if (const auto c = class_of_args(fold, axis)) classes.push_back(*c);
  return classes;
}

std::optional<ClassId> Trees::class_of_args(NodeId fold, int axis) const {
  for (NodeId arg : request_.spec.graph.folded_args(fold))
    if (const auto c = request_.resolved.class_of(arg, axis)) return c;
  return std::nullopt;
}

// Of all that is accumulated.
std::vector<ClassId> Trees::classes_of_args(NodeId fold) const {
  std::vector<ClassId> classes;
  for (int axis = 0; axis < request_.resolved.axis_count; ++axis)
    if (const auto c = class_of_args(fold, axis)) classes.push_back(*c);
  return classes;
}

// Why two neighbours in the order are one loop, or are not.
Decision Trees::explain_merge(const Component &component, ClassId outer, ClassId inner) const {
  const std::string a = request_.resolved[outer].name, b = request_.resolved[inner].name;
  if (component.joins_previous[component.place.at(inner)])
    return support::decide(support::Reason::OneStride, a + ", " + b, "one loop",
                           a + " and " + b + " are one loop: every operand walks them as one",
                           {{"two loops", "the inner one would start anew for each turn"}});
  const auto two = [&](support::Reason reason, const std::string &because) {
    return support::decide(reason, a + ", " + b, "two loops",
                           a + " and " + b + " are two loops: " + because, {{"one loop", because}});
  };
  std::string names; // of the operands that stand against it
  const auto consider = [&](const Steps &steps, const std::string &name) {
    if (!merges(outer, inner, request_.resolved, {&steps}))
      names += (names.empty() ? "'" : ", '") + name + "'";
  };
  std::vector<bool> seen(request_.spec.inputs.size());
  for (NodeId id : component.nodes) {
    const expr::Node &node = request_.spec.graph[id];
    if (node.kind != NodeKind::Input || seen[node.payload]) continue;
    seen[node.payload] = true;
    consider(request_.walks.inputs[node.payload], request_.spec.inputs[node.payload].name);
  }
  for (std::size_t k : component.outputs)
    consider(request_.walks.outputs[k], request_.spec.outputs[k].name);
  if (!names.empty())
    return two(support::Reason::StridesDiffer, "no one stride walks both in " + names);
  if (asked_apart(outer, inner))
    return two(support::Reason::AskedApart, "the schedule asks for other things along one of them");
  for (NodeId id : component.nodes)
    if (is_index_of(id, outer, inner))
      return two(support::Reason::PositionIsRead, "iota asks for the position along one of them");
  return two(support::Reason::FoldSplitsAxes, "a fold keeps only one, or a scan runs along one");
}

std::vector<Group> Trees::output_groups(std::size_t output) const {
  std::vector<Group> groups = kept_groups(component_of_output_[output], output_classes(output));
  if (request_.generic)
    fill_up(groups, request_.generic->kept, int(request_.spec.outputs[output].axes.size()));
  return groups;
}

void Trees::fill_up(std::vector<Group> &groups, const Group &fillers, int count) const {
  std::vector<Group> filled;
  for (std::size_t k = 0; groups.size() + k < std::size_t(count); ++k)
    filled.push_back({fillers[k]});
  groups.insert(groups.begin(), filled.begin(), filled.end());
}

Trees::Tree Trees::filled_up(NodeId fold, Tree tree) const {
  if (!request_.generic) return tree;
  const expr::Graph &graph = request_.spec.graph;
  expr::AxisSet args;
  for (NodeId arg : graph.folded_args(fold)) args = args | graph[arg].axes;
  const bool like = graph[fold].like.given(); // its shape says which axes are folded
  fill_up(tree.kept, request_.generic->kept, graph[fold].axes.size());
  fill_up(tree.folded, request_.generic->folded, (like ? args : args & graph[fold].folded).size());
  return tree;
}

std::vector<Group> Trees::kept_groups(ComponentId id, std::vector<ClassId> classes) const {
  const Component &component = components_[id.index];
  const auto place = [&](ClassId c) { return component.place.at(c); };
  std::ranges::sort(classes, {}, place);
  std::vector<Group> groups;
  for (ClassId c : classes) {
    const bool joins = component.joins_previous[place(c)] && !groups.empty() &&
                       place(groups.back().back()) + 1 == place(c);
    if (joins)
      groups.back().push_back(c);
    else
      groups.push_back({c});
  }
  return groups;
}

Trees::Reads Trees::reads_of(NodeId root) const {
  Reads reads;
  // A node may be reached directly and through a fold; the direct way counts, so it is walked
  // again.
  enum : char { unseen, inside_a_fold, directly };
  std::vector<char> seen(root.index + 1, unseen);
  std::vector<std::pair<NodeId, char>> work{{root, directly}};
  while (!work.empty()) {
    const auto [id, how] = work.back();
    work.pop_back();
    if (seen[id.index] >= how) continue;
    const expr::Node &node = request_.spec.graph[id];
    if (node.kind == NodeKind::Input && seen[id.index] == unseen)
      reads.inputs.push_back(node.payload);
    if (node.kind == NodeKind::Index && seen[id.index] == unseen) reads.indices.push_back(id);
    if (is_fold(id) && how == directly) reads.folds.push_back(id);
    seen[id.index] = how;
    for (NodeId arg : request_.spec.graph.operands(id))
      work.push_back({arg, is_fold(id) ? char(inside_a_fold) : how});
  }
  std::sort(reads.inputs.begin(), reads.inputs.end());
  return reads;
}

Trees::Tree Trees::make_tree(NodeId fold) const {
  Reads reads;
  for (NodeId arg : request_.spec.graph.folded_args(fold)) {
    const Reads more = reads_of(arg);
    reads.inputs.insert(reads.inputs.end(), more.inputs.begin(), more.inputs.end());
    reads.folds.insert(reads.folds.end(), more.folds.begin(), more.folds.end());
    reads.indices.insert(reads.indices.end(), more.indices.begin(), more.indices.end());
  }
  std::vector<const Steps *> lies, walks; // walks: in memory
  for (const std::uint32_t input : reads.inputs) {
    lies.push_back(&request_.walks.lies[input]);
    walks.push_back(&request_.walks.inputs[input]);
  }
  const ops::Recipe &recipe = request_.spec.graph.recipe(fold);
  const bool ordered = !recipe.commutes; // so it is without a combine
  const std::vector<ClassId> folded = folded_classes(fold);
  std::vector<ClassId> args = classes_of_args(fold);
  // Where any order gives the same bits, axes that no input of the fold has together are nested as
  // what is around the fold has them.
  if (recipe.exact && !reads.folds.empty())
    std::ranges::sort(args, {},
                      [&](ClassId c) { return components_[component_of(fold).index].place.at(c); });
  const std::vector<ClassId> order = ordered ? folded : sort_by_stride(std::move(args), lies);
  Tree tree;
  for (ClassId c : order) {
    if (std::count(folded.begin(), folded.end(), c) == 0) continue;
    bool joins =
        !tree.folded.empty() && merges(tree.folded.back().back(), c, request_.resolved, lies);
    for (NodeId index : reads.indices)
      if (joins && is_index_of(index, tree.folded.back().back(), c)) joins = false;
    if (joins && (is_apart(fold, tree.folded.back().back()) || is_apart(fold, c))) joins = false;
    for (NodeId inner : reads.folds) { // a fold's result has no order of its own: it never merges
      if (folded_classes(inner).empty()) continue;
      const auto kept = classes_of(inner);
      if (std::count(kept.begin(), kept.end(), c) > 0) joins = false;
      if (!tree.folded.empty() &&
          std::count(kept.begin(), kept.end(), tree.folded.back().back()) > 0)
        joins = false;
    }
    support::check(!joins || merges(tree.folded.back().back(), c, request_.resolved, walks),
                   "axes of a fold that are one in its tree are two in memory");
    if (joins)
      tree.folded.back().push_back(c);
    else
      tree.folded.push_back({c});
  }
  const bool scan =
      request_.spec.graph[fold].kind == NodeKind::Scan; // keeps the order in lanes, too
  const ClassId innermost = scan            ? sort_by_stride(classes_of_args(fold), lies).back()
                            : order.empty() ? ClassId()
                                            : order.back();
  tree.ways = (scan || !ordered) && std::count(folded.begin(), folded.end(), innermost) > 0;
  std::vector<ClassId> kept;
  for (ClassId c : classes_of(fold))
    if (std::count(folded.begin(), folded.end(), c) == 0) kept.push_back(c);
  tree.kept = kept_groups(component_of(fold), kept);
  const std::vector<ClassId> own = sort_by_stride(std::move(kept), lies);
  for (std::size_t k = own.size(); k-- > 0;) {
    tree.side_by_side *= request_.resolved[own[k]].extent;
    if (k == 0 || !merges(own[k - 1], own[k], request_.resolved, lies)) break;
  }
  return tree;
}

std::vector<NodeId> Trees::folds_in(std::span<const NodeId> roots) const {
  std::vector<NodeId> folds;
  for (NodeId root : roots) {
    std::vector<bool> seen(root.index + 1);
    std::vector<NodeId> work{root};
    while (!work.empty()) {
      const NodeId id = work.back();
      work.pop_back();
      if (seen[id.index]) continue;
      seen[id.index] = true;
      if (is_fold(id)) {
        folds.push_back(id);
        continue;
      }
      for (NodeId arg : request_.spec.graph.operands(id)) work.push_back(arg);
    }
  }
  return folds;
}

std::vector<std::uint32_t> Trees::inputs_over(const std::vector<ClassId> &classes,
                                              std::span<const NodeId> roots) const {
  std::vector<std::uint32_t> inputs;
  for (NodeId root : roots)
    for (const std::uint32_t input : reads_of(root).inputs) {
      const Steps &steps = request_.walks.inputs[input];
      const bool all = std::all_of(classes.begin(), classes.end(), [&](ClassId c) {
        return std::any_of(steps.begin(), steps.end(), [&](Step s) { return s.cls == c; });
      });
      if (all) inputs.push_back(input);
    }
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  return inputs;
}

} // namespace broadloom::plan
