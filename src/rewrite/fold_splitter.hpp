// Inside of how a kernel is taken apart at its folds along an axis (split_folds.hpp): first what is
// folded, and in which rounds, is found (find_folds.cpp), then the kernels of blocks are made
// (fold_splitter.cpp).
#pragma once

#include "rewrite/split_folds.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace broadloom::rewrite {

using expr::AxisSet;
using expr::Node;
using expr::NodeId;
using expr::NodeKind;

// Declared as 1: the same element for all positions of the axis.
inline bool is_repeated(const spec::TypedInput &input, std::size_t dim) {
  return input.extents[dim] == 1 && input.may_stretch[dim];
}

class FoldSplitter {
public:
  FoldSplitter(const spec::TypedSpec &spec, int axis)
      : spec_(spec), graph_(spec.graph), axis_(axis), given_(spec.given_inputs()),
        name_("'" + spec.axes[std::size_t(axis)].name + "'") {}

  FoldSplit run();

private:
  [[noreturn]] void refuse(const std::string &why, const Place &where, const std::string &help);

  bool has(AxisSet axes) const { return axes.has(axis_); }
  bool input_has(std::uint32_t input) const { return has(spec_.inputs[input].axes()); }
  bool any_arg_has(NodeId id) const {
    return std::ranges::any_of(graph_.args(id), [&](NodeId arg) { return has(graph_[arg].axes); });
  }
  bool goes_along(NodeId id) const { return graph_[id].folded.has(axis_) && any_arg_has(id); }

  // find_folds.cpp
  void check_kernel();
  void check_like(NodeId id);
  void find_folds();
  void find_inner_folds();

  bool is_scan(NodeId id) const { return graph_[id].kind == NodeKind::Scan && goes_along(id); }

  void add_scan(NodeId scan);
  void find_groups();
  int find_rounds();

  // A spec of the given inputs, the states of the rounds so far, and windows; `now` is what nodes
  // of the kernel are in it.
  struct Draft {
    spec::TypedSpec spec;
    std::vector<int> place; // [given input]: which input it is, or -1
    std::size_t offset = 0, first_known = 0, first_window = 0;
    std::vector<NodeId> now;
  };

  // fold_splitter.cpp
  Draft begin(const std::string &suffix, const std::vector<int> &place, bool takes_offset,
              bool takes_windows) const;
  std::size_t add_windows(spec::TypedSpec &spec) const;
  void copy(Draft &part, const std::vector<bool> &wanted,
            std::vector<std::pair<NodeId, NodeId>> *same) const;
  std::vector<int> all_places() const;
  Draft make_block(int number);
  Draft make_leaf(int number);
  void know_states(int number, Draft &block, Draft &leaf);
  void want(std::vector<bool> &wanted, NodeId root) const;
  void make_join();
  void make_before(int number);
  spec::TypedSpec make_rest();
  bool reads_in_rest(std::uint32_t input) const;

  struct ScanGroup {
    NodeId scan;
    int round = 0;
    std::size_t first_known = 0; // of all states that are known: what comes before a block
  };
  struct Join {
    std::optional<expr::RecipeId> recipe; // none: of extents
    AxisSet axes;
    bool sums = false; // an extent that a block has a part of; others are the same in each
  };

  const spec::TypedSpec &spec_;
  const expr::Graph &graph_;
  const int axis_;
  const std::size_t given_; // inputs that a call is given; windows are behind them
  const std::string name_;
  std::vector<bool> rest_; // [node]: needed by outputs outside of the folds, and these themselves
  std::vector<NodeId> folds_; // along the axis, and extents
  std::vector<int> round_of_; // [fold]
  std::vector<NodeId> scans_; // along the axis, in `rest_` and in what is folded or scanned
  std::vector<ScanGroup> groups_;
  std::map<NodeId, std::size_t> group_of_; // of scans_
  std::map<NodeId, std::size_t>
      states_; // of folds_ in the rounds so far: which of all of their states
  std::map<NodeId, std::size_t> new_states_; // of a round, by its outputs
  std::size_t count_ = 0;                    // of all that is known
  std::vector<Join> joins_;                  // of a round, in the order of the outputs of its block
  FoldSplit made_;
};

} // namespace broadloom::rewrite
