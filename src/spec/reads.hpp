// What every expression reads, before types are known: its axes and its inputs.
//
// These follow from the expression alone, whatever mode it is used in. "Rank" in the rules of the
// modes is that of the inputs found here; an input that only lends its shape (like=) is not read.
#pragma once

#include "expr/walk.hpp"
#include "spec/sets.hpp"
#include "spec/space.hpp"

#include <unordered_map>

namespace broadloom::spec {

// The first of these inputs that has the least rank; null where there are none.
const TypedInput *least_rank_input(const TypedSpec &spec, const std::vector<std::size_t> &inputs);

struct Read {
  expr::AxisSet axes; // of the value
  expr::AxisSet
      folded; // of a Fold: the axes that it folds for sure; of a Scan: the one it runs along
  SetId inputs = 0;
  SetId accumulated = 0; // of a Fold or a Scan: the inputs of what is accumulated
  bool scoped = false; // holds an extent or iota whose inputs are those of the expression around it
};

// Those of the inputs that matter for the extent along an axis: all that have it, but one of those
// that a label makes equal.
std::vector<std::size_t> lenders_of(const TypedSpec &spec, const std::vector<std::size_t> &inputs,
                                    int axis);

class Reads {
public:
  Reads(const Space &space, const TypedSpec &spec)
      : space_(space), spec_(spec), sets_(spec.inputs.size()) {}

  // Walks `root` and all it needs. Throws E0103, E0104, E0003, and what is wrong with a definition.
  void add(const Expr &root);
  void add(const FoldUse &use); // of a mode

  const Read &operator[](const Expr &expr) const { return reads_.at(expr.node()); }
  const Read &operator[](const ExprNode &node) const { return reads_.at(&node); }
  std::vector<std::size_t> inputs(const Expr &expr) const { return members((*this)[expr].inputs); }
  std::vector<std::size_t> members(SetId inputs) const { return sets_.members(inputs); }
  bool known(const Expr &expr) const { return reads_.count(expr.node()) != 0; }
  // Of any node, those of definitions too.
  bool scoped(const ExprNode &node) const {
    const auto it = reads_.find(&node);
    return it != reads_.end() && it->second.scoped;
  }

private:
  Read read(const ExprNode &node);
  Read read_fold(const ExprNode &node);
  void check_accumulator(const FoldUse &use);

  const Space &space_;
  const TypedSpec &spec_;
  InputSets sets_;
  expr::Walker walker_;
  std::unordered_map<const ExprNode *, Read> reads_;
  std::unordered_map<std::string, const AccumulatorDef *> definitions_; // those that were checked
};

} // namespace broadloom::spec
