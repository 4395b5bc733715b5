// Inside the plan stage: the class that arranges the work (see arrange.cpp for the method).
#pragma once

#include "plan/hold.hpp"
#include "plan/nest.hpp"
#include "plan/trees.hpp"

#include <map>

namespace broadloom::plan {

using expr::NodeId;
using expr::NodeKind;

class Arranger {
public:
  Arranger(const Request &request, const Machine &machine)
      : request_(request), machine_(machine), trees_(request) {
    nests_.why.wanted = request.explain;
  }
  Nests run();

private:
  using Tree = Trees::Tree;
  static constexpr std::size_t no_use = ~std::size_t(0);
  bool is_fold(NodeId id) const { return trees_.is_fold(id); }

  // arrange.cpp
  // Whether the schedule asks for lanes along a loop over these classes.
  bool asks_for_lanes(const Group &group) const;
  void note_chunks(NodeId fold);
  // A fold over rows, with the elements of a row kept: row by row, with the states in memory.
  void note_sweep(NodeId fold);
  // A fold of short rows, of which several are taken at once.
  void note_short_rows(NodeId fold);
  // Paths that begin with these groups have their last one cut into chunks.
  bool is_cut(const std::vector<Group> &prefix) const;
  // Whether a fold or scan with these leaves or blocks along the last group runs in the chunks.
  bool is_cut_for(const std::vector<Group> &prefix, std::int64_t leaf) const;
  std::vector<LoopKey> path_of(const std::vector<Group> &groups) const;
  // The folds whose results these values are made of, and the held values for which the use waits.
  std::vector<int> needs_of(std::span<const NodeId> roots, std::size_t use = no_use) const;
  // Equal items are one: the row sums inside a total and the row sums of an output, say.
  int add_item(const Item &item);
  static void make_vector(std::vector<LoopKey> &path, const Group &group);
  static std::string state_names(const ops::Recipe &recipe);
  void explain_fold(NodeId fold, const Tree &tree);

  // arrange_folds.cpp
  // An item that accumulates the values of graph nodes.
  Item first_item(NodeId fold);
  void add_fold(NodeId fold);
  std::vector<Group> in_storage_order(const std::vector<Group> &around, const Tree &tree);
  void add_swept_fold(NodeId fold, const Tree &tree, const std::vector<Group> &nest);
  // An item that accumulates the states of another one.
  Item joining(int below, const ops::Recipe &recipe);
  // Without a combine the states step through the folded axes in logical order. Of several groups the
  // inner loop starts from the running states of the outer one, which then takes over its result.
  void add_ordered_fold(NodeId fold);
  // The states of one accumulator make one chain.
  int chain_of(NodeId fold);
  // The states are replaced by the arguments.
  static ops::Recipe handing_on(const ops::Recipe &recipe);
  // The scanned axis is the innermost loop, in blocks. Where it is cut, the chunks are the blocks: first
  // the total of each chunk, then what each chunk starts from, then the scan itself.
  void add_scan(NodeId scan);
  static bool joins_in_lanes(const ops::Recipe &recipe);
  static std::string scan_way(const ops::Recipe &recipe, bool in_chunks);

  // arrange_stores.cpp
  // Uses in the order of the folds, then of the wanted outputs.
  void hold_values(const std::vector<NodeId> &folds);
  Decision explain_again(const HoldChoice &chosen) const;
  // The array lies as its own loops go; loops that merge axes must find them merged in it.
  bool can_be_walked(const Held &held, const std::vector<Use> &uses) const;
  // Before the first fold that may read them, and after those that they read.
  void add_holds_below(NodeId limit);
  bool waits(std::size_t use, NodeId value) const;
  void add_repeated();
  void note_blocks(const Repeated &repeated);
  std::vector<int> output_classes(int output) const;
  // Operands that lie the other way round are walked in tiles, by all stores with these loops.
  void note_tile(int output);
  void note_short_rows(int output);
  std::vector<LoopKey> store_path(const std::vector<Group> &groups) const;
  void add_store(int output);
  // Where folds of short rows have lanes along another axis, what goes along the rows has, too.
  void make_rows_short(std::vector<LoopKey> &path, const std::vector<Group> &groups) const;
  // The loops of a store. One that reads a scan of its own axes may go inside the scan's loops; one that reads
  // the same data as a fold goes along with it, so that both come out of one sweep, where the fold's
  // innermost axis is the store's, too, and long enough to be walked in lines.
  std::vector<Group> store_groups(int output, const std::vector<int> &classes,
                                  const std::vector<int> &needs);
  // The loops of a fold or scan, if they are over just these classes.
  static std::vector<Group> loops_over(const Item &item, const std::vector<int> &classes);

  const Request &request_;
  const Machine &machine_;
  Trees trees_;
  std::vector<Held> held_; // by value
  std::size_t next_held_ = 0;
  std::map<std::uint32_t, std::size_t> use_of_fold_; // places in the list of uses
  std::vector<std::size_t> use_of_output_;
  Nests nests_;
  std::vector<std::vector<Group>> cut_;
  struct Tile {
    std::vector<Group> loops;  // of the stores that are
    std::vector<LoopKey> path; // walked so
  };
  std::vector<Tile> tiles_;
  std::map<Group, std::int64_t> least_chunk_;              // of a cut group
  std::map<std::uint32_t, std::vector<Group>> swept_;      // [fold]: its loops
  std::map<std::uint32_t, std::vector<Group>> short_rows_; // [fold]: its kept loops, and the row
  std::map<std::string, int> known_;
  std::map<std::vector<std::uint32_t>, int> chains_;
};

} // namespace broadloom::plan
