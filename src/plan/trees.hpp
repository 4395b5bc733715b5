// Inside the plan stage: how folds and kept axes are to be walked, before anything is put into loops.
//
// The global order of classes is by stride over all operands; kept axes are looped in this order, and
// neighbours merge where every operand allows it. Each fold has a tree of its own, which follows from
// the inputs that it reads and nothing else: its folded axes by stride (in logical order where the
// order of elements matters), merged where those inputs merge.
#pragma once

#include "plan/request.hpp"

#include <map>
#include <span>

namespace broadloom::plan {

// [fold]: its loops, outermost first.
using LoopsOfFolds = std::map<expr::NodeId, std::vector<Group>>;

class Trees {
public:
  explicit Trees(const Request &request);

  bool needed(expr::NodeId id) const { return needed_[id.index]; }
  // A fold or scan over no class at all is an operation: its one step.
  bool is_fold(expr::NodeId id) const { return is_fold_[id.index]; }
  // Those that are needed, arguments before their users.
  const std::vector<expr::NodeId> &folds() const { return folds_; }

  struct Tree {
    std::vector<Group> kept, folded; // outermost first
    bool ways = false;               // along the last folded group: 32 of a fold, 16 of a scan
    std::int64_t leaf() const;       // positions of the last folded group
  };
  const Tree &tree_of(expr::NodeId fold) const { return trees_.at(fold); } // of one of folds()

  // The groups in which these classes are looped over where they are kept, outermost first.
  std::vector<Group> kept_groups(std::vector<ClassId> classes) const;

  std::vector<ClassId> classes_of(expr::NodeId id) const;

  std::vector<ClassId> output_classes(std::size_t output) const;
  std::vector<Group> output_groups(std::size_t output) const {
    return kept_groups(output_classes(output));
  }

  // The inputs that these expressions read at every position of the classes, in order.
  std::vector<std::uint32_t> inputs_over(const std::vector<ClassId> &classes,
                                         std::span<const expr::NodeId> roots) const;

  // The folds and scans that these expressions are made of, not those inside them.
  std::vector<expr::NodeId> folds_in(std::span<const expr::NodeId> roots) const;

  // All classes, outermost first, as they are nested where no schedule says otherwise.
  const std::vector<ClassId> &by_stride() const { return by_stride_; }
  std::vector<Decision> explain() const;

private:
  // What an expression reads, down to the folds inside it (direct) and through them (inputs).
  struct Reads {
    std::vector<const Steps *> inputs;
    std::vector<expr::NodeId> folds; // direct
    std::vector<expr::NodeId> indices;
  };
  Reads reads_of(expr::NodeId root) const;
  Tree make_tree(expr::NodeId fold) const;
  std::vector<ClassId> folded_classes(expr::NodeId fold) const; // in logical order
  std::vector<ClassId> classes_of_args(expr::NodeId fold) const;
  std::optional<ClassId> class_of_args(expr::NodeId fold, int axis) const;
  std::vector<const Steps *> used_operands() const;
  void order_classes();
  void set_order(std::vector<ClassId> order);
  std::vector<ClassId> asked_order() const;
  bool has_short_rows(int axis) const;
  bool asked_apart(ClassId outer, ClassId inner) const;
  bool all_merge(ClassId outer, ClassId inner, const std::vector<const Steps *> &operands) const;
  Decision explain_merge(ClassId outer, ClassId inner) const;
  bool is_index_of(expr::NodeId id, ClassId outer, ClassId inner) const;

  const Request &request_;
  std::vector<bool> needed_, is_fold_; // [node]
  std::vector<expr::NodeId> folds_;
  std::map<expr::NodeId, Tree> trees_; // of folds_
  std::vector<ClassId> order_, by_stride_;
  std::vector<int> rank_;            // [class]: its place in the order
  std::vector<bool> joins_previous_; // [class]: merges with the class before it in the order
};

} // namespace broadloom::plan
