// Calls of user functions written out: the stage between SpecData as the user said it and its
// analysis.
//
//   def twice(a) = a + a
//   out z = twice(x * y)          becomes   out z = t + t   with one node t = x * y
//
// What is shared stays shared: a body is written out once for each list of arguments, so that
// functions of functions grow only as large as the value that they describe.
#pragma once

#include "expr/function.hpp"
#include "expr/walk.hpp"
#include "spec/spec.hpp"

#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace broadloom::spec {

// Which calls go: all, or those of functions that say nothing of their own derivatives.
enum class Calls { All, WithoutDerivatives };

// The same kernel without these Call nodes, also in the definitions of its accumulators; all its
// inputs declared, in their order. Throws SpecError E0013 where that is more than 2^20 operations,
// E0003 for a parameter outside of a function. Iterative.
SpecData expand_calls(const SpecData &data, Calls calls = Calls::All);

// The same for one definition; `source` is the text of its places, null for the API.
AccumulatorDef expand_calls(const AccumulatorDef &definition, const std::string *source);

// The same for expressions one by one; what has been written out once is remembered.
class Expander {
public:
  // `owner`, as in "kernel 'k'", and its source are for errors.
  Expander(Calls calls, std::string owner, const std::string *source)
      : which_(calls), owner_(std::move(owner)), source_(source) {}

  Expr expand(const Expr &root);
  Accumulator expand(const Accumulator &accumulator);
  AccumulatorDef expand(const AccumulatorDef &definition);

private:
  // What the parameters of a function stand for in one call.
  struct Frame {
    const FunctionDecl *function = nullptr;
    std::vector<Expr> args;
    std::optional<Place> where = {}; // of the call, where nobody wrote the function
  };
  using Key = std::pair<const ExprNode *, std::size_t>; // a node and the frame that it is read in
  struct KeyHash {
    std::size_t operator()(const Key &key) const {
      return std::hash<const ExprNode *>()(key.first) * 31 + key.second;
    }
  };

  bool goes(const FunctionDecl &function) const {
    return which_ == Calls::All || function.derivatives.empty();
  }
  void scan(const Expr &root);
  void note(const ExprNode &node);
  bool changes(const AccumulatorDef &definition);

  bool stays(const Expr &expr) const { return changes_.count(expr.node()) == 0; }
  bool ready(const Expr &expr, std::size_t frame) const {
    return stays(expr) || done_.count({expr.node(), frame}) != 0;
  }
  const Expr &value(const Expr &expr, std::size_t frame) const {
    return stays(expr) ? expr : done_.at({expr.node(), frame});
  }
  Expr rebuilt(const ExprNode &node, std::size_t frame);
  void keep(const ExprNode &node, std::size_t frame, Expr value);
  std::size_t frame_of(const ExprNode &call, std::size_t frame);

  Calls which_;
  std::string owner_;
  const std::string *source_;
  expr::Walker walker_;
  std::vector<Expr> roots_; // what is remembered by its address must not go away
  std::unordered_set<const ExprNode *> changes_; // Calls, Parameters and what is made of them
  std::unordered_set<const FunctionDecl *> known_;
  std::vector<const FunctionDecl *> functions_;
  std::size_t scanned_ = 0;                                  // of the functions
  std::unordered_map<const ExprNode *, std::size_t> params_; // their positions
  std::vector<Frame> frames_{{}};                            // the first one is that of the kernel
  std::unordered_multimap<std::size_t, std::size_t> frame_ids_; // by hash
  std::unordered_map<Key, Expr, KeyHash> done_;
  std::unordered_map<const AccumulatorDef *, bool> definitions_; // does it change?
  std::unordered_map<const AccumulatorDef *, Accumulator> expanded_;
};

} // namespace broadloom::spec
