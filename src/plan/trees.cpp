// See trees.hpp.
#include "plan/trees.hpp"

#include "plan/thresholds.hpp"
#include "support/reasons.hpp"

#include <algorithm>

namespace broadloom::plan {

using expr::NodeId;
using expr::NodeKind;

Trees::Trees(const Request &request)
    : request_(request), needed_(needed_nodes(request.spec, request.wanted)),
      is_fold_(request.spec.graph.size()) {
  for (std::uint32_t n = 0; n < request.spec.graph.size(); ++n) {
    const NodeKind kind = request.spec.graph[NodeId{n}].kind;
    is_fold_[n] =
        (kind == NodeKind::Fold || kind == NodeKind::Scan) && !folded_classes(NodeId{n}).empty();
    if (is_fold_[n] && needed_[n]) folds_.push_back(NodeId{n});
  }
  order_classes();
  for (const NodeId fold : folds_) trees_.emplace(fold, make_tree(fold));
}

std::int64_t Trees::Tree::leaf() const {
  return ways ? steps_per_leaf * loop::fold_ways : steps_per_leaf;
}

std::vector<Decision> Trees::explain() const {
  if (order_.empty()) return {};
  std::string text;
  for (std::size_t k = 0; k < order_.size(); ++k) {
    if (k > 0) text += joins_previous_[order_[k].index] ? "." : ", ";
    text += request_.resolved[order_[k]].name;
  }
  const std::string how = order_ == by_stride_ ? "by descending stride" : "as the schedule asks";
  std::vector<Decision> why{support::decide(
      order_ == by_stride_ ? support::Reason::DescendingStride : support::Reason::AskedOrder, "",
      text, text + ": " + how + "; axes joined by a dot are walked as one by every operand")};
  for (std::size_t k = 1; k < order_.size(); ++k)
    why.push_back(explain_merge(order_[k - 1], order_[k]));
  return why;
}

std::vector<ClassId> Trees::classes_of(NodeId id) const {
  std::vector<ClassId> classes;
  for (int axis = 0; axis < request_.resolved.axis_count; ++axis) {
    if (const auto c = request_.resolved.class_of(id, axis)) classes.push_back(*c);
  }
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

std::vector<const Steps *> Trees::used_operands() const {
  std::vector<const Steps *> operands;
  for (std::uint32_t n = 0; n < request_.spec.graph.size(); ++n)
    if (needed_[n] && request_.spec.graph[NodeId{n}].kind == NodeKind::Input)
      operands.push_back(&request_.walks.inputs[request_.spec.graph[NodeId{n}].payload]);
  for (std::size_t k = 0; k < request_.spec.outputs.size(); ++k)
    if (request_.wanted[k]) operands.push_back(&request_.walks.outputs[k]);
  return operands;
}

// Global order, and for each class whether it merges with the one before it.
void Trees::order_classes() {
  std::vector<ClassId> classes;
  for (std::uint32_t c = 0; c < request_.resolved.classes.size(); ++c)
    if (request_.resolved.classes[c].axis) classes.push_back(ClassId{c});
  std::sort(classes.begin(), classes.end(), [&](ClassId a, ClassId b) {
    return std::pair(request_.resolved[a].axis, a) < std::pair(request_.resolved[b].axis, b);
  });
  by_stride_ = sort_by_stride(classes, used_operands());
  set_order(by_stride_);
  if (!request_.spec.wishes.moves_loops()) return;
  set_order(asked_order());
  // A kept axis whose lanes take a short row each stays outside of the row.
  const auto asked = [&](ClassId c) {
    return request_.resolved[c].axis == request_.spec.wishes.vector;
  };
  const std::vector<int> &wished = request_.spec.wishes.order;
  const bool others_inside =
      std::ranges::any_of(wished, [&](int axis) { return axis == request_.spec.wishes.vector; }) &&
      wished.back() != request_.spec.wishes.vector;
  if (!request_.spec.wishes.vector || others_inside || has_short_rows(*request_.spec.wishes.vector))
    return;
  std::vector<ClassId> order;
  for (const bool inside : {false, true})
    for (ClassId c : order_)
      if (asked(c) == inside) order.push_back(c);
  set_order(std::move(order));
}

// The axes that `order` names change places among themselves.
std::vector<ClassId> Trees::asked_order() const {
  const std::vector<int> &wished = request_.spec.wishes.order;
  const auto is_of = [&](ClassId c, int axis) { return request_.resolved[c].axis == axis; };
  std::vector<ClassId> named, order = order_;
  for (int axis : wished)
    for (ClassId c : order_)
      if (is_of(c, axis)) named.push_back(c);
  auto next = named.begin();
  for (ClassId &c : order)
    if (std::ranges::any_of(wished, [&](int axis) { return is_of(c, axis); })) c = *next++;
  return order;
}

// Whether a fold of short rows keeps this axis, so that each lane can take a row: choose_short_rows.
bool Trees::has_short_rows(int axis) const {
  for (const NodeId fold : folds_) {
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

void Trees::set_order(std::vector<ClassId> order) {
  const auto operands = used_operands();
  order_ = std::move(order);
  rank_.resize(request_.resolved.classes.size());
  joins_previous_.assign(request_.resolved.classes.size(), false);
  for (int k = 0; k < int(order_.size()); ++k) {
    rank_[order_[k].index] = k;
    if (k > 0) joins_previous_[order_[k].index] = all_merge(order_[k - 1], order_[k], operands);
  }
}

bool Trees::all_merge(ClassId outer, ClassId inner,
                      const std::vector<const Steps *> &operands) const {
  if (!merges(outer, inner, request_.resolved, operands) || asked_apart(outer, inner)) return false;
  for (std::uint32_t n = 0; n < request_.spec.graph.size(); ++n)
    if (needed_[n] && is_index_of(NodeId{n}, outer, inner)) return false;
  for (const NodeId fold : folds_) {
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

// Whether the schedule asks for other blocks or cuts along one than along the other, or for tiles, which each have a side.
bool Trees::asked_apart(ClassId outer, ClassId inner) const {
  const spec::Wishes &wishes = request_.spec.wishes;
  const int a = *request_.resolved[outer].axis, b = *request_.resolved[inner].axis;
  return wishes.side_of(a) > 0 || wishes.side_of(b) > 0 ||
         wishes.parallel.has(a) != wishes.parallel.has(b) ||
         wishes.serial.has(a) != wishes.serial.has(b) ||
         wishes.copies_of(a) != wishes.copies_of(b) || wishes.tile_of(a) != wishes.tile_of(b);
}

// Why two neighbours in the order are one loop, or are not.
Decision Trees::explain_merge(ClassId outer, ClassId inner) const {
  const std::string a = request_.resolved[outer].name, b = request_.resolved[inner].name;
  if (joins_previous_[inner.index])
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
  for (std::uint32_t n = 0; n < request_.spec.graph.size(); ++n) {
    const expr::Node &node = request_.spec.graph[NodeId{n}];
    if (!needed_[n] || node.kind != NodeKind::Input || seen[node.payload]) continue;
    seen[node.payload] = true;
    consider(request_.walks.inputs[node.payload], request_.spec.inputs[node.payload].name);
  }
  for (std::size_t k = 0; k < request_.spec.outputs.size(); ++k)
    if (request_.wanted[k]) consider(request_.walks.outputs[k], request_.spec.outputs[k].name);
  if (!names.empty())
    return two(support::Reason::StridesDiffer, "no one stride walks both in " + names);
  if (asked_apart(outer, inner))
    return two(support::Reason::AskedApart, "the schedule asks for other things along one of them");
  for (std::uint32_t n = 0; n < request_.spec.graph.size(); ++n)
    if (needed_[n] && is_index_of(NodeId{n}, outer, inner))
      return two(support::Reason::PositionIsRead, "iota asks for the position along one of them");
  return two(support::Reason::FoldSplitsAxes, "a fold keeps only one, or a scan runs along one");
}

// The index along an axis is the position of a loop over that axis alone.
bool Trees::is_index_of(NodeId id, ClassId outer, ClassId inner) const {
  if (request_.spec.graph[id].kind != NodeKind::Index) return false;
  const auto cls = request_.resolved.index_class(request_.spec, id);
  return cls == outer || cls == inner;
}

std::vector<Group> Trees::kept_groups(std::vector<ClassId> classes) const {
  std::sort(classes.begin(), classes.end(),
            [&](ClassId a, ClassId b) { return rank_[a.index] < rank_[b.index]; });
  std::vector<Group> groups;
  for (ClassId c : classes) {
    const bool joins = joins_previous_[c.index] && !groups.empty() &&
                       rank_[groups.back().back().index] == rank_[c.index] - 1;
    if (joins)
      groups.back().push_back(c);
    else
      groups.push_back({c});
  }
  return groups;
}

Trees::Reads Trees::reads_of(NodeId root) const {
  Reads reads;
  // A node may be reached directly and through a fold; the direct way counts, so it is walked again.
  enum : char { unseen, inside_a_fold, directly };
  std::vector<char> seen(root.index + 1, unseen);
  std::vector<std::pair<NodeId, char>> work{{root, directly}};
  while (!work.empty()) {
    const auto [id, how] = work.back();
    work.pop_back();
    if (seen[id.index] >= how) continue;
    const expr::Node &node = request_.spec.graph[id];
    if (node.kind == NodeKind::Input && seen[id.index] == unseen)
      reads.inputs.push_back(&request_.walks.inputs[node.payload]);
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
  const bool ordered = !request_.spec.graph.recipe(fold).commutes; // so it is without a combine
  const std::vector<ClassId> folded = folded_classes(fold);
  const std::vector<ClassId> order =
      ordered ? folded : sort_by_stride(classes_of_args(fold), reads.inputs);
  Tree tree;
  for (ClassId c : order) {
    if (std::count(folded.begin(), folded.end(), c) == 0) continue;
    bool joins = !tree.folded.empty() &&
                 merges(tree.folded.back().back(), c, request_.resolved, reads.inputs);
    for (NodeId index : reads.indices)
      if (joins && is_index_of(index, tree.folded.back().back(), c)) joins = false;
    for (NodeId inner : reads.folds) { // a fold's result has no order of its own: it never merges
      const auto kept = classes_of(inner);
      if (std::count(kept.begin(), kept.end(), c) > 0) joins = false;
      if (!tree.folded.empty() &&
          std::count(kept.begin(), kept.end(), tree.folded.back().back()) > 0)
        joins = false;
    }
    if (joins)
      tree.folded.back().push_back(c);
    else
      tree.folded.push_back({c});
  }
  const bool scan =
      request_.spec.graph[fold].kind == NodeKind::Scan; // keeps the order in lanes, too
  const ClassId innermost =
      scan ? sort_by_stride(classes_of_args(fold), reads.inputs).back() : order.back();
  tree.ways = (scan || !ordered) && std::count(folded.begin(), folded.end(), innermost) > 0;
  std::vector<ClassId> kept;
  for (ClassId c : classes_of(fold))
    if (std::count(folded.begin(), folded.end(), c) == 0) kept.push_back(c);
  tree.kept = kept_groups(kept);
  return tree;
}

std::vector<NodeId> Trees::folds_in(std::span<const NodeId> roots) const {
  std::vector<NodeId> folds;
  for (NodeId root : roots) {
    const Reads reads = reads_of(root);
    folds.insert(folds.end(), reads.folds.begin(), reads.folds.end());
  }
  return folds;
}

std::vector<std::uint32_t> Trees::inputs_over(const std::vector<ClassId> &classes,
                                              std::span<const NodeId> roots) const {
  std::vector<std::uint32_t> inputs;
  for (NodeId root : roots)
    for (const Steps *steps : reads_of(root).inputs) {
      const bool all = std::all_of(classes.begin(), classes.end(), [&](ClassId c) {
        return std::any_of(steps->begin(), steps->end(), [&](Step s) { return s.cls == c; });
      });
      if (all) inputs.push_back(std::uint32_t(steps - request_.walks.inputs.data()));
    }
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  return inputs;
}

} // namespace broadloom::plan
