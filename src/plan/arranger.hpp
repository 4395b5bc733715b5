// Inside the plan stage: the class that arranges the work (see arrange.cpp for the method).
#pragma once

#include "plan/schedule.hpp"
#include "plan/trees.hpp"

#include <map>
#include <optional>
#include <unordered_set>

namespace broadloom::plan {

using expr::NodeId;
using expr::NodeKind;

class Arranger {
public:
  Arranger(const Request &request, const Trees &trees, const Ways &ways, Why &why)
      : request_(request), trees_(trees), ways_(ways), why_(why) {}
  Nests run();

  // Whether a scan of this recipe along the innermost axis goes in groups of lanes.
  static bool joins_in_lanes(const ops::Recipe &recipe);

private:
  using Tree = Trees::Tree;

  // Calls enter(id) once for each of these and goes on to what it reads where that is true.
  template <class Enter> void reach(std::span<const NodeId> roots, Enter enter) const {
    std::vector<NodeId> work(roots.begin(), roots.end());
    std::unordered_set<std::uint32_t> seen;
    while (!work.empty()) {
      const NodeId id = work.back();
      work.pop_back();
      if (!seen.insert(id.index).second || !enter(id)) continue;
      for (const NodeId arg : request_.spec.graph.operands(id)) work.push_back(arg);
    }
  }

  // arrange.cpp
  std::vector<LoopKey> path_of(const std::vector<Group> &groups) const;
  // The folds whose results these values are made of, and the held values for which the use waits.
  std::vector<ItemId> needs_of(std::span<const NodeId> roots,
                               std::optional<std::size_t> use = {}) const;
  // Equal items are one: the row sums inside a total and the row sums of an output, say.
  ItemId add_item(NodeId fold, const Item &item);
  static void make_vector(std::vector<LoopKey> &path, const Group &group);
  static std::string state_names(const ops::Recipe &recipe);
  void explain_fold(NodeId fold, const Tree &tree);

  // arrange_folds.cpp
  // An item that accumulates the values of graph nodes.
  Item first_item(NodeId fold);
  std::optional<NodeId> mask_of(NodeId fold) const;
  ops::Recipe steps_of(NodeId fold) const;
  void add_fold(NodeId fold);
  std::vector<Group> in_storage_order(NodeId fold, const std::vector<Group> &around,
                                      const Tree &tree);
  void add_swept_fold(NodeId fold, const Tree &tree, const std::vector<Group> &nest);
  // An item that accumulates the states of another one.
  Item joining(ItemId below, const ops::Recipe &recipe);
  // Without a combine the states step through the folded axes in logical order. Of several groups
  // the inner loop starts from the running states of the outer one, which then takes over its
  // result.
  void add_ordered_fold(NodeId fold);
  // The states of one accumulator make one chain.
  ChainId chain_of(NodeId fold);
  // The states are replaced by the arguments.
  static ops::Recipe handing_on(const ops::Recipe &recipe);
  // The scanned axis is the innermost loop, in blocks. Where it is cut, the chunks are the blocks:
  // first the total of each chunk, then what each chunk starts from, then the scan itself.
  void add_scan(NodeId scan);
  bool rows_crowd(NodeId scan, const Tree &tree) const;
  bool is_light(NodeId scan) const;
  bool steps_in_rows(const ops::Recipe &recipe, const Tree &tree) const;
  static std::string scan_way(const ops::Recipe &recipe, bool in_chunks);

  // arrange_stores.cpp
  // Before the first fold that may read them, and after those that they read.
  void add_holds_below(NodeId limit);
  // Their arrays are filled in the order of their own axes, before all else.
  void add_repeated();
  void add_panels();
  Item hold(NodeId value); // of an array of its own, which it fills
  NodeId node_of_input(std::uint32_t input) const;
  std::vector<LoopKey> store_path(const std::vector<Group> &groups) const;
  void add_store(std::size_t output);
  // Where folds of short rows have lanes along another axis, what goes along the rows has, too.
  void make_rows_short(std::vector<LoopKey> &path, const std::vector<Group> &groups) const;
  // The loops of a store. One that reads a scan of its own axes may go inside the scan's loops; one
  // that reads the same data as a fold goes along with it, so that both come out of one sweep,
  // where the fold's innermost axis is the store's, too, and long enough to be walked in lines.
  std::vector<Group> store_groups(std::size_t output, const std::vector<ClassId> &classes,
                                  const std::vector<ItemId> &needs);
  bool calls_functions(NodeId root) const; // beyond its folds
  static std::vector<Group> groups_of(const std::vector<LoopKey> &path);
  // The loops of a fold or scan, if they are over just these classes.
  static std::vector<Group> loops_over(const Item &item, const std::vector<ClassId> &classes);

  const Request &request_;
  const Trees &trees_;
  const Ways &ways_;
  Why &why_;
  Nests nests_;
  std::size_t next_held_ = 0;
  std::map<std::string, ItemId> known_;
  std::map<std::vector<std::uint32_t>, ChainId> chains_;
};

} // namespace broadloom::plan
