// See rows.hpp. Costs are as in the table of operations: sixteenths of a cycle for each element.
#include "plan/rows.hpp"

#include "plan/cost.hpp"
#include "plan/hold.hpp"
#include "plan/thresholds.hpp"
#include "support/min_cut.hpp"
#include "support/reasons.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace broadloom::plan {
namespace {

using expr::NodeId;
using expr::NodeKind;
using support::MinCut;

// What an item asks for, less the starts of its states.
std::vector<NodeId> roots_of(const Request &request, const Item &item) {
  switch (item.kind) {
  case ItemKind::Fold:
  case ItemKind::Scan:
  case ItemKind::Partial: return item.args;
  case ItemKind::Store: return {request.spec.outputs[item.output].addend};
  case ItemKind::Hold: return {item.value};
  }
  return {};
}

class RowChooser {
public:
  RowChooser(const Request &request, const Trees &trees, const Nests &nests, Why &why)
      : request_(request), trees_(trees), nests_(nests), why_(why),
        again_(computed_again(request.spec, trees)) {}

  std::vector<Row> run() {
    for (const TreeNode &parent : nests_.tree) {
      if (!parent.parent) continue;          // a root: what it holds is not in a loop
      std::vector<std::vector<TreeId>> sets; // loops of this body over the same axis
      for (const Entry &entry : parent.body) {
        if (entry.kind != Entry::Kind::Loop || !may_share(nests_[entry.loop])) continue;
        const Group &group = nests_[entry.loop].key.group;
        auto set = std::find_if(sets.begin(), sets.end(), [&](const std::vector<TreeId> &loops) {
          return nests_[loops[0]].key.group == group;
        });
        if (set == sets.end()) set = sets.insert(sets.end(), std::vector<TreeId>());
        set->push_back(entry.loop);
      }
      for (const std::vector<TreeId> &loops : sets)
        if (loops.size() > 1) choose(loops);
    }
    return std::move(rows_);
  }

private:
  // An innermost loop over all positions, of lanes or of a short row for each lane, which has
  // something to compute.
  static bool may_share(const TreeNode &node) {
    return node.key.kind == LoopKind::Plain && (node.key.vector || node.key.turns > 0) &&
           node.key.turns <= loop::fold_ways && !node.key.scan &&
           std::all_of(node.body.begin(), node.body.end(), [](const Entry &entry) {
             return entry.kind == Entry::Kind::Step || entry.kind == Entry::Kind::Set;
           });
  }

  bool varies(NodeId id, const Group &group) const {
    const std::vector<ClassId> classes = trees_.classes_of(id);
    return std::any_of(group.begin(), group.end(), [&](ClassId c) {
      return std::count(classes.begin(), classes.end(), c) > 0;
    });
  }

  bool is_in_memory(NodeId id, std::size_t phase) const {
    const std::optional<ItemId> item = nests_.item_of_held[id.index];
    return item && nests_[*item].place->phase < phase;
  }

  // Counts this loop for all values that it computes or reads at every position.
  void follow(TreeId loop) {
    std::vector<bool> seen(request_.spec.graph.size());
    for (const Entry &entry : nests_[loop].body) {
      const Item &item = nests_[entry.item];
      std::vector<NodeId> work = roots_of(request_, item);
      for (NodeId root : work) is_root_[root.index] = true;
      while (!work.empty()) {
        const NodeId id = work.back();
        work.pop_back();
        if (seen[id.index] || !varies(id, nests_[loop].key.group)) continue;
        seen[id.index] = true;
        ++loops_of_[id.index];
        ends_[id.index] = trees_.is_fold(id) || is_in_memory(id, item.place->phase);
        if (ends_[id.index]) continue;
        for (NodeId arg : request_.spec.graph.operands(id)) work.push_back(arg);
      }
    }
  }

  double excess(NodeId id) const {
    const expr::Node &node = request_.spec.graph[id];
    if (ends_[id.index] || (node.kind != NodeKind::Op && node.kind != NodeKind::Cast)) return 0;
    const double cost = node.kind == NodeKind::Op ? ops::info(node.op).cost : load_cost;
    return cost * size_factor(id) * (loops_of_[id.index] - 1);
  }

  double keep_cost(NodeId id) const {
    const NodeKind kind = request_.spec.graph[id].kind;
    if (ends_[id.index] || (kind != NodeKind::Op && kind != NodeKind::Cast) || again_[id.index] ||
        loops_of_[id.index] < 2)
      return MinCut::uncuttable;
    if (asked_[id.index]) return 0;
    return (store_cost + load_cost * (loops_of_[id.index] - 1)) * size_factor(id);
  }

  double size_factor(NodeId id) const {
    return std::max(1.0, double(size_of(request_.spec.graph[id].dtype)) / 4);
  }

  // What keep() or the schedule asks to be kept for the loops of one turn of this loop.
  void note_asked(const Group &around) {
    asked_.assign(request_.spec.graph.size(), false);
    const auto is_of = [&](int axis) {
      return std::ranges::any_of(around,
                                 [&](ClassId c) { return request_.resolved[c].axis == axis; });
    };
    for (const spec::Mark &mark : request_.spec.marks)
      if (mark.keep && (!mark.at || is_of(*mark.at))) asked_[mark.value.index] = true;
  }

  void choose(const std::vector<TreeId> &loops) {
    note_asked(nests_[*nests_[loops[0]].parent].key.group);
    is_root_.assign(request_.spec.graph.size(), false);
    ends_.assign(request_.spec.graph.size(), false);
    loops_of_.assign(request_.spec.graph.size(), 0);
    for (TreeId loop : loops) follow(loop);
    std::vector<NodeId> reached;
    std::vector<std::size_t> place(request_.spec.graph.size(), 0);
    for (std::uint32_t n = 0; n < request_.spec.graph.size(); ++n)
      if (loops_of_[n] > 0) {
        place[n] = reached.size();
        reached.push_back(NodeId{n});
      }
    const std::size_t source = 2 * reached.size(), sink = source + 1;
    MinCut graph(sink + 1);
    for (std::size_t k = 0; k < reached.size(); ++k) {
      const NodeId id = reached[k];
      graph.add_edge(2 * k, 2 * k + 1, keep_cost(id));
      graph.add_edge(2 * k + 1, sink, excess(id));
      if (is_root_[id.index]) graph.add_edge(source, 2 * k, MinCut::uncuttable);
      if (ends_[id.index]) continue;
      for (NodeId arg : request_.spec.graph.operands(id))
        if (loops_of_[arg.index] > 0)
          graph.add_edge(2 * k + 1, 2 * place[arg.index], MinCut::uncuttable);
    }
    graph.cut(source, sink);
    std::vector<NodeId> kept;
    double bytes = 0;
    const Group &group = nests_[loops[0]].key.group;
    for (std::size_t k = 0; k < reached.size(); ++k) {
      if (!graph.with_source(2 * k) || graph.with_source(2 * k + 1)) continue;
      kept.push_back(reached[k]);
      bytes += double(group_extent(request_.resolved, group)) *
               double(size_of(request_.spec.graph[reached[k]].dtype));
    }
    if (kept.empty()) return;
    const std::string what = kept.size() == 1 ? "a value" : fmt::format("{} values", kept.size());
    const std::string axis = group_name(request_.resolved, group);
    if (bytes > most_row_bytes) {
      why_.add([&] {
        return support::decide(
            support::Reason::RowExceedsCache, axis, "computed in each loop",
            fmt::format("{} over {} {} computed in each loop: {:.3g} bytes would leave the caches",
                        what, axis, kept.size() == 1 ? "is" : "are", bytes),
            {{"kept in a row", "it would leave the caches", {.bytes = bytes}}});
      });
      return;
    }
    for (NodeId id : kept) rows_.push_back({id, group, loops});
    why_.add([&] {
      return support::decide(
          support::Reason::RowKept, axis, "kept in a row",
          fmt::format("{} over {} {} kept for the loops after the first ({:.3g} bytes for each "
                      "thread)",
                      what, axis, kept.size() == 1 ? "is" : "are", bytes),
          {{"computed in each loop", "costs more than a store and loads in the caches"}},
          {.bytes = bytes});
    });
  }

  const Request &request_;
  const Trees &trees_;
  const Nests &nests_;
  Why &why_;
  std::vector<Row> rows_;
  const std::vector<bool> again_;    // [node]: recompute() says so
  std::vector<bool> asked_;          // [node]: to be kept in a row, whatever it costs
  std::vector<bool> is_root_, ends_; // [node]: asked for itself; its arguments are not read here
  std::vector<int> loops_of_;        // [node]: how many of the loops need it
};

// The loop around an item, or its own, that walks the axis of the scan.
TreeId reading_loop(const Nests &nests, const Item &user, const Item &scan) {
  TreeId at = user.is_store() ? user.place->body : user.place->loop;
  while (nests[at].key.group != scan.loop.group) at = nests[at].parent.value();
  return at;
}

// The scans that items read outside of the scan's loop, where place.cpp has put them.
std::vector<Row> rows_of_scans(const Request &request, const Trees &trees, const Nests &nests,
                               Why &why) {
  std::vector<Row> rows;
  const expr::Graph &graph = request.spec.graph;
  const auto row_of = [&](NodeId id) {
    return std::ranges::find_if(rows, [&](const Row &row) {
      return nests.item_of_fold[row.value.index] == nests.item_of_fold[id.index] &&
             graph[row.value].payload == graph[id].payload;
    });
  };
  for (const Item &user : nests.items) {
    std::vector<NodeId> read = roots_of(request, user);
    read.insert(read.end(), user.start.begin(), user.start.end());
    for (NodeId id : trees.folds_in(read)) {
      const Item &scan = nests[nests.item_of_fold[id.index].value()];
      if (scan.kind != ItemKind::Scan || !scan.is_in(user.place->phase)) continue;
      const TreeId loop = reading_loop(nests, user, scan);
      if (loop == scan.place->loop) continue;
      auto row = row_of(id);
      if (row == rows.end())
        row = rows.insert(row, {id,
                                scan.loop.group,
                                {scan.place->loop},
                                true,
                                std::ranges::any_of(scan.path, &LoopKey::vector)});
      if (std::count(row->loops.begin(), row->loops.end(), loop) == 0) row->loops.push_back(loop);
    }
  }
  for (const Row &row : rows)
    why.add([&] {
      const std::string axis = group_name(request.resolved, row.group);
      const std::string &name = graph.recipe(row.value).name;
      const double bytes = double(group_extent(request.resolved, row.group)) *
                           double(size_of(graph[row.value].dtype)) *
                           (row.lanes ? loop::row_lanes : 1);
      return support::decide(
          support::Reason::RowKept, axis, "kept in a row",
          fmt::format("{} along {} is kept for the loops after the scan{} ({:.3g} bytes for each "
                      "thread)",
                      name, axis, row.lanes ? ", in a row for each lane" : "", bytes),
          {{"in memory", "a phase of its own would write and read all of it"}}, {.bytes = bytes});
    });
  return rows;
}

} // namespace

std::vector<Row> choose_rows(const Request &request, const Trees &trees, const Nests &nests,
                             Why &why) {
  std::vector<Row> rows = rows_of_scans(request, trees, nests, why);
  if (request.spec.graph.size() > most_nodes_to_cut || nests.tree.size() > most_loops_to_search)
    return rows;
  std::ranges::move(RowChooser(request, trees, nests, why).run(), std::back_inserter(rows));
  return rows;
}

} // namespace broadloom::plan
