// Inside the plan stage: how folds and kept axes are to be walked, before anything is put into
// loops.
//
// Outputs that share an input, or a fold, make a component. The order of its classes is by stride
// over all its operands, but for the rows of a register tile (tile_order); kept axes are looped in
// this order, and neighbours merge where each of these operands allows it. What another component
// does with the same axes is nothing to it. Each fold has a tree of its own, which follows from the
// inputs that it reads and nothing else: its folded axes by stride (in logical order where the
// order of elements matters), merged where those inputs merge.
#pragma once

#include "plan/request.hpp"
#include "support/reasons.hpp"

#include <map>
#include <span>

namespace broadloom::plan {

// [fold]: its loops, outermost first.
using LoopsOfFolds = std::map<expr::NodeId, std::vector<Group>>;

struct ComponentId { // outputs that share what they read, with all that they are made of
  std::uint32_t index = 0;
  friend auto operator<=>(const ComponentId &, const ComponentId &) = default;
};

class Trees {
public:
  explicit Trees(const Request &request);

  bool needed(expr::NodeId id) const { return needed_[id.index]; }
  // A fold or scan over no class at all is an operation: its one step. In a generic plan it is a
  // fold over fillers.
  bool is_fold(expr::NodeId id) const { return is_fold_[id.index]; }
  // Those that are needed, arguments before their users.
  const std::vector<expr::NodeId> &folds() const { return folds_; }

  struct Tree {
    std::vector<Group> kept, folded; // outermost first
    bool ways = false;               // along the last folded group: 32 of a fold, 16 of a scan
    // Of what it keeps, the positions that lie innermost in what it reads, as one axis: the same
    // whatever is stored and computed beside it.
    std::int64_t side_by_side = 1;
    std::int64_t leaf() const; // positions of the last folded group
  };
  const Tree &tree_of(expr::NodeId fold) const { return trees_.at(fold); } // of one of folds()

  ComponentId component_of(expr::NodeId id) const { return component_of_[id.index]; }

  // The groups in which these classes of a component are looped over where they are kept, outermost
  // first.
  std::vector<Group> kept_groups(ComponentId component, std::vector<ClassId> classes) const;

  std::vector<ClassId> classes_of(expr::NodeId id) const;

  std::vector<ClassId> output_classes(std::size_t output) const;
  std::vector<Group> output_groups(std::size_t output) const;

  // The inputs that these expressions read at every position of the classes, in order.
  std::vector<std::uint32_t> inputs_over(const std::vector<ClassId> &classes,
                                         std::span<const expr::NodeId> roots) const;

  // The folds and scans that these expressions are made of, not those inside them.
  std::vector<expr::NodeId> folds_in(std::span<const expr::NodeId> roots) const;

  // The classes of each component, outermost first, by descending stride.
  std::vector<ClassId> by_stride() const;
  std::vector<Decision> explain() const;

private:
  // What an expression reads, down to the folds inside it (direct) and through them (inputs).
  struct Reads {
    std::vector<std::uint32_t> inputs;
    std::vector<expr::NodeId> folds; // direct
    std::vector<expr::NodeId> indices;
  };
  Reads reads_of(expr::NodeId root) const;
  Tree make_tree(expr::NodeId fold) const;
  // In a generic plan, so many groups: fillers are the outermost, which join nothing.
  void fill_up(std::vector<Group> &groups, const Group &fillers, int count) const;
  Tree filled_up(expr::NodeId fold, Tree tree) const;
  std::vector<ClassId> folded_classes(expr::NodeId fold) const; // in logical order
  std::vector<ClassId> classes_of_args(expr::NodeId fold) const;
  std::optional<ClassId> class_of_args(expr::NodeId fold, int axis) const;

  struct Component {
    std::vector<std::size_t> outputs;
    std::vector<expr::NodeId> nodes; // arguments before their users
    std::vector<expr::NodeId> folds;
    std::vector<const Steps *> operands;
    std::vector<ClassId> order, by_stride;
    std::vector<bool> joins_previous;     // [place in the order]: merges with the class before it
    std::map<ClassId, std::size_t> place; // in the order
  };
  void find_components();
  std::vector<ClassId> classes_of(const Component &component) const;
  std::vector<const Steps *> operands_of(const Component &component) const;
  void order_classes(Component &component);
  void set_order(Component &component, std::vector<ClassId> order) const;
  std::optional<std::vector<ClassId>> tile_order(const Component &component) const;
  std::vector<ClassId> asked_order(const Component &component) const;
  bool has_short_rows(const Component &component, int axis) const;
  bool asked_apart(ClassId outer, ClassId inner) const;
  bool all_merge(const Component &component, ClassId outer, ClassId inner) const;
  std::pair<support::Reason, std::string> why_ordered(const Component &component) const;
  Decision explain_merge(const Component &component, ClassId outer, ClassId inner) const;
  bool is_index_of(expr::NodeId id, ClassId outer, ClassId inner) const;
  bool is_apart(expr::NodeId fold, ClassId cls) const;

  const Request &request_;
  std::vector<bool> needed_, is_fold_; // [node]
  std::vector<expr::NodeId> folds_;
  std::map<expr::NodeId, Tree> trees_; // of folds_
  std::vector<Component> components_;
  std::vector<ComponentId> component_of_;        // [node], of those that are needed and no literals
  std::vector<ComponentId> component_of_output_; // [output], of those that are wanted
};

} // namespace broadloom::plan
