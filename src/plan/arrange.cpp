// Orders the work: folds become chains of items, items find their loops, loops gather in phases.
//
// 1. The global order of classes: by stride over all operands. Kept axes are looped in this order, and
//    neighbours merge where every operand allows it.
// 2. Each fold gets its own tree, from the inputs that it reads and nothing else: its folded axes by
//    stride, merged where those inputs merge. One group gives one item; several give a chain, inner
//    first, each item folding the results of the one below. 32 lanes where the fold's innermost axis
//    is folded (the lanes walk it), else one lane, with the vector along the innermost kept axis.
// 3. A fold that keeps nothing, or too little for all threads, is cut into chunks: the chunks run in
//    parallel, and a last item joins their results.
// 4. Items are placed one by one into the first phase that has their loops (place.cpp).
#include "plan/nest.hpp"
#include "plan/place.hpp"

#include "support/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace broadloom::plan {
namespace {

using expr::NodeId;
using expr::NodeKind;

constexpr std::int64_t steps_per_leaf = 128;

class Arranger {
public:
  Arranger(const spec::TypedSpec &spec, const Resolved &resolved, const Walks &walks,
           const std::vector<bool> &wanted)
      : spec_(spec), resolved_(resolved), walks_(walks), wanted_(wanted) {}

  Nests run() {
    nests_.item_of_fold.assign(spec_.graph.size(), -1);
    needed_ = needed_nodes(spec_, wanted_);
    order_classes();
    std::vector<NodeId> folds;
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n)
      if (needed_[n] && is_fold(NodeId{n})) folds.push_back(NodeId{n});
    for (NodeId fold : folds) note_chunks(fold);
    for (NodeId fold : folds) add_fold(fold);
    for (std::size_t k = 0; k < spec_.outputs.size(); ++k)
      if (wanted_[k]) add_store(int(k));
    place_items(nests_);
    return std::move(nests_);
  }

private:
  // A fold over no class at all is an operation: its one step.
  bool is_fold(NodeId id) const {
    return spec_.graph[id].kind == NodeKind::Fold && !folded_classes(id).empty();
  }

  std::vector<int> classes_of(NodeId id) const {
    std::vector<int> classes;
    for (int axis = 0; axis < resolved_.axis_count; ++axis) {
      const int c = resolved_.class_of_axis[std::size_t(id.index) * resolved_.axis_count + axis];
      if (c != one) classes.push_back(c);
    }
    return classes;
  }

  std::vector<int> folded_classes(NodeId fold) const {
    const NodeId arg = spec_.graph.args(fold)[0];
    std::vector<int> classes;
    for (int axis = 0; axis < resolved_.axis_count; ++axis) {
      if (!resolved_.folded[fold.index].has(axis)) continue;
      const int c = resolved_.class_of_axis[std::size_t(arg.index) * resolved_.axis_count + axis];
      if (c != one) classes.push_back(c);
    }
    return classes;
  }

  std::vector<const Steps *> used_operands() const {
    std::vector<const Steps *> operands;
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n)
      if (needed_[n] && spec_.graph[NodeId{n}].kind == NodeKind::Input)
        operands.push_back(&walks_.inputs[spec_.graph[NodeId{n}].payload]);
    for (std::size_t k = 0; k < spec_.outputs.size(); ++k)
      if (wanted_[k]) operands.push_back(&walks_.outputs[k]);
    return operands;
  }

  // Global order, and for each class whether it merges with the one before it.
  void order_classes() {
    std::vector<int> classes(resolved_.classes.size());
    for (int c = 0; c < int(classes.size()); ++c) classes[c] = c;
    std::sort(classes.begin(), classes.end(), [&](int a, int b) {
      return std::pair(resolved_.classes[a].axis, a) < std::pair(resolved_.classes[b].axis, b);
    });
    const auto operands = used_operands();
    nests_.order = sort_by_stride(classes, operands);
    rank_.resize(classes.size());
    joins_previous_.assign(classes.size(), false);
    for (int k = 0; k < int(nests_.order.size()); ++k) {
      rank_[nests_.order[k]] = k;
      if (k > 0)
        joins_previous_[nests_.order[k]] =
            all_merge(nests_.order[k - 1], nests_.order[k], operands);
    }
    if (!nests_.order.empty()) {
      std::string text;
      for (std::size_t k = 0; k < nests_.order.size(); ++k) {
        if (k > 0) text += joins_previous_[nests_.order[k]] ? "." : ", ";
        text += resolved_.classes[nests_.order[k]].name;
      }
      nests_.why.push_back(
          {"axes", text + ": by descending stride; axes joined by a dot are walked as "
                          "one by every operand"});
    }
  }

  bool all_merge(int outer, int inner, const std::vector<const Steps *> &operands) const {
    if (!merges(outer, inner, resolved_, operands)) return false;
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n)
      if (needed_[n] && is_index_of(NodeId{n}, outer, inner)) return false;
    for (std::uint32_t n = 0; n < spec_.graph.size(); ++n) {
      if (!needed_[n] || !is_fold(NodeId{n})) continue;
      const auto kept = classes_of(NodeId{n});
      const bool has_outer = std::count(kept.begin(), kept.end(), outer) > 0;
      const bool has_inner = std::count(kept.begin(), kept.end(), inner) > 0;
      if (has_outer != has_inner) return false;
    }
    return true;
  }

  // The index along an axis is the position of a loop over that axis alone.
  bool is_index_of(NodeId id, int outer, int inner) const {
    if (spec_.graph[id].kind != NodeKind::Index) return false;
    const int cls = resolved_.index_class(spec_, id);
    return cls == outer || cls == inner;
  }

  std::vector<Group> kept_groups(std::vector<int> classes) const {
    std::sort(classes.begin(), classes.end(), [&](int a, int b) { return rank_[a] < rank_[b]; });
    std::vector<Group> groups;
    for (int c : classes) {
      const bool joins =
          joins_previous_[c] && !groups.empty() && rank_[groups.back().back()] == rank_[c] - 1;
      if (joins)
        groups.back().push_back(c);
      else
        groups.push_back({c});
    }
    return groups;
  }

  // ------------------------------------------------------------------ the tree of one fold

  struct Tree {
    std::vector<Group> kept, folded; // outermost first
    bool lanes = false;              // 32 lanes along the last folded group
  };

  // What an expression reads, down to the folds inside it (direct) and through them (inputs).
  struct Reads {
    std::vector<const Steps *> inputs;
    std::vector<NodeId> folds; // direct
    std::vector<NodeId> indices;
  };
  Reads reads_of(NodeId root) const {
    Reads reads;
    // A node may be reached directly and through a fold; the direct way counts, so it is walked again.
    enum : char { unseen, inside_a_fold, directly };
    std::vector<char> seen(root.index + 1, unseen);
    std::vector<std::pair<NodeId, char>> work{{root, directly}};
    while (!work.empty()) {
      const auto [id, how] = work.back();
      work.pop_back();
      if (seen[id.index] >= how) continue;
      const expr::Node &node = spec_.graph[id];
      if (node.kind == NodeKind::Input && seen[id.index] == unseen)
        reads.inputs.push_back(&walks_.inputs[node.payload]);
      if (node.kind == NodeKind::Index && seen[id.index] == unseen) reads.indices.push_back(id);
      if (is_fold(id) && how == directly) reads.folds.push_back(id);
      seen[id.index] = how;
      for (NodeId arg : spec_.graph.operands(id))
        work.push_back({arg, is_fold(id) ? char(inside_a_fold) : how});
    }
    std::sort(reads.inputs.begin(), reads.inputs.end());
    return reads;
  }

  Tree tree_of(NodeId fold) const {
    const NodeId arg = spec_.graph.args(fold)[0];
    const Reads reads = reads_of(arg);
    const std::vector<int> folded = folded_classes(fold);
    const std::vector<int> order = sort_by_stride(classes_of(arg), reads.inputs);
    Tree tree;
    for (int c : order) {
      if (std::count(folded.begin(), folded.end(), c) == 0) continue;
      bool joins =
          !tree.folded.empty() && merges(tree.folded.back().back(), c, resolved_, reads.inputs);
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
    tree.lanes = std::count(folded.begin(), folded.end(), order.back()) > 0;
    tree.kept = kept_groups(classes_of(fold));
    return tree;
  }

  // ------------------------------------------------------------------ paths

  // Paths that begin with these groups have their last one cut into chunks.
  bool is_cut(const std::vector<Group> &prefix) const {
    return std::find(cut_.begin(), cut_.end(), prefix) != cut_.end();
  }

  void note_chunks(NodeId fold) {
    const Tree tree = tree_of(fold);
    double kept = 1, folded = 1;
    for (const Group &g : tree.kept) kept *= double(group_extent(resolved_, g));
    for (const Group &g : tree.folded) folded *= double(group_extent(resolved_, g));
    const bool too_little_kept = kept < 32 && folded >= 32 * 1024 && kept * folded >= 256 * 1024;
    if (!tree.kept.empty() && !too_little_kept) return;
    std::vector<Group> prefix = tree.kept;
    prefix.push_back(tree.folded.front());
    if (is_cut(prefix)) return;
    nests_.why.push_back(
        {"chunks", fmt::format("{} is folded in chunks that run in parallel and are joined at "
                               "the end: {}",
                               group_name(resolved_, prefix.back()),
                               tree.kept.empty() ? "no axis is kept" : "few positions are kept")});
    cut_.push_back(std::move(prefix));
  }

  std::vector<LoopKey> path_of(const std::vector<Group> &groups) const {
    std::vector<LoopKey> path;
    std::vector<Group> prefix;
    for (const Group &group : groups) {
      prefix.push_back(group);
      if (is_cut(prefix)) {
        path.push_back({LoopKind::Chunks, group, false});
        path.push_back({LoopKind::Within, group, false});
      } else {
        path.push_back({LoopKind::Plain, group, false});
      }
    }
    return path;
  }

  // ------------------------------------------------------------------ items

  std::vector<int> needs_of(NodeId root) const {
    std::vector<int> needs;
    if (is_fold(root)) return {nests_.item_of_fold[root.index]};
    for (NodeId fold : reads_of(root).folds) needs.push_back(nests_.item_of_fold[fold.index]);
    return needs;
  }

  void add_fold(NodeId fold) {
    const expr::Node &node = spec_.graph[fold];
    const Tree tree = tree_of(fold);
    const bool exact = ops::is_exact(node.fold, node.dtype);
    int below = -1;
    for (std::size_t k = tree.folded.size(); k-- > 0;) {
      const bool innermost = k + 1 == tree.folded.size();
      Item item;
      item.kind = ItemKind::Fold;
      item.fold = node.fold;
      item.dtype = node.dtype;
      item.leaf = exact        ? 0
                  : !innermost ? 1
                  : tree.lanes ? steps_per_leaf * loop::fold_lanes
                               : steps_per_leaf;
      if (innermost)
        item.arg = spec_.graph.args(fold)[0], item.needs = needs_of(item.arg);
      else
        item.arg_item = below, item.needs = {below};
      std::vector<Group> around = tree.kept;
      around.insert(around.end(), tree.folded.begin(), tree.folded.begin() + k);
      item.path = path_of(around);
      if (!tree.lanes) make_vector(item.path, tree.kept.back());
      around.push_back(tree.folded[k]);
      const bool cut = is_cut(around);
      item.loop = {cut ? LoopKind::Within : LoopKind::Plain, tree.folded[k],
                   innermost && tree.lanes};
      if (cut) item.path.push_back({LoopKind::Chunks, tree.folded[k], false});
      below = add_item(item);
      if (cut) {
        Item join = nests_.items[below];
        join.path.pop_back();
        join.loop = {LoopKind::Join, tree.folded[k], false};
        join.leaf = exact ? 0 : 1;
        join.arg_item = below;
        join.needs = {below};
        below = add_item(join);
      }
    }
    nests_.item_of_fold[fold.index] = below;
    explain_fold(fold, tree, exact);
  }

  static void make_vector(std::vector<LoopKey> &path, const Group &group) {
    for (LoopKey &key : path)
      if (key.group == group && key.kind != LoopKind::Chunks) key.vector = true;
  }

  // Equal items are one: the row sums inside a total and the row sums of an output, say.
  int add_item(const Item &item) {
    std::string key = fmt::format("{} {} {} {} {}", int(item.fold), int(item.dtype), item.leaf,
                                  item.arg_item, item.arg_item < 0 ? item.arg.index : 0);
    const auto add_loop = [&](const LoopKey &loop) {
      key += fmt::format("|{}{}", int(loop.kind), loop.vector);
      for (int c : loop.group) key += fmt::format(" {}", c);
    };
    for (const LoopKey &loop : item.path) add_loop(loop);
    key += "#";
    add_loop(item.loop);
    const auto [found, fresh] = known_.try_emplace(key, int(nests_.items.size()));
    if (fresh) nests_.items.push_back(item);
    return found->second;
  }

  void add_store(int output) {
    Item item;
    item.kind = ItemKind::Store;
    item.output = output;
    std::vector<int> classes;
    for (int c : resolved_.output_classes[output])
      if (c != one) classes.push_back(c);
    item.path = path_of(kept_groups(classes));
    item.needs = needs_of(spec_.outputs[output].addend);
    nests_.items.push_back(std::move(item));
  }

  void explain_fold(NodeId fold, const Tree &tree, bool exact) {
    std::string folded, kept;
    for (const Group &g : tree.folded)
      folded += (folded.empty() ? "" : ", ") + group_name(resolved_, g);
    for (const Group &g : tree.kept) kept += (kept.empty() ? "" : ", ") + group_name(resolved_, g);
    nests_.why.push_back(
        {"fold",
         fmt::format(
             "{} over {} in {}: {}, {}", ops::info(spec_.graph[fold].fold).name, folded,
             name(spec_.graph[fold].dtype),
             tree.lanes
                 ? fmt::format("32 lanes along {}", group_name(resolved_, tree.folded.back()))
                 : fmt::format("one lane for each element of {}, which is the vector axis",
                               group_name(resolved_, tree.kept.back())),
             exact ? "in any order (exact)" : "leaves of 128 steps joined pairwise")});
  }

  const spec::TypedSpec &spec_;
  const Resolved &resolved_;
  const Walks &walks_;
  const std::vector<bool> &wanted_;
  Nests nests_;
  std::vector<bool> needed_;
  std::vector<int> rank_;
  std::vector<bool> joins_previous_; // [class]: merges with the class before it in the global order
  std::vector<std::vector<Group>> cut_;
  std::map<std::string, int> known_;
};

} // namespace

Nests arrange(const spec::TypedSpec &spec, const Resolved &resolved, const Walks &walks,
              const std::vector<bool> &wanted) {
  return Arranger(spec, resolved, walks, wanted).run();
}

} // namespace broadloom::plan
