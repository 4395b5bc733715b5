// Inside the gradient stage: a kernel over one more axis of some of its inputs, expression by
// expression.
//
//   in x : f32[i]                   in x : f32[b, i]
//   out z = x / sum(x)              out z[b, i] = x / sum(x, i)
#pragma once

#include "grad/batch_facts.hpp"

#include <memory>

namespace broadloom::grad {

// Throws SpecError E0061 where the kernel has no such form, E0003 and E0004 as `batch` does.
SpecData batched(const SpecData &data, const std::string &axis,
                 const std::set<std::string> &inputs);

class Batcher {
public:
  Batcher(const SpecData &data, std::string axis, const std::set<std::string> &inputs);
  SpecData run();

private:
  // batch_inputs.cpp: declarations, windows and positions
  void make_inputs();
  void rename_own_axes();
  void place_unlabelled();
  std::shared_ptr<const InputDecl> with_axis(const InputDecl &decl) const;
  Expr array_now(const Expr &array, const Place &where);
  Window positions_now(const InputDecl &decl, const Place &where);
  Expr window_now(const InputDecl &decl, const Expr &of, const Place &where);
  Expr window_called(const InputDecl &decl);
  void extents_now(AffineForm &form, const Place &where);
  bool changes(const InputDecl &decl) const;
  std::shared_ptr<const InputDecl> said_now(const std::string &owner, const InputDecl &said);
  SaidExtent own_extent(const Place &where);
  AffineForm own_form() const { return {0, {{axis_, 1}}, {}}; }

  // batch_folds.cpp: reductions, and what they are like
  Expr fold(const ExprNode &node);
  Expr fold_over(const ExprNode &node, FoldUse use, std::vector<Expr> args, const AxisNames &axes);
  Expr fold_like_inputs(const ExprNode &node, FoldUse use, std::vector<Expr> args);
  Expr fold_like_window(const ExprNode &node, FoldUse use, std::vector<Expr> args,
                        const InputDecl &window);
  void find_terms();
  void list_dims_of(OutputDecl &output, const AxisNames &axes, const std::string &array) const;
  bool is_labelled(const std::string &array) const; // an input, and not a let
  void check_own_extents(const ExprNode &fold);
  std::string like_lender(FoldUse &use, const InputDecl &window, const Place &where);
  Expr lender_of(const InputDecl &of, const Place &where);
  void write_out_accumulate(OutputDecl &output, const AxisNames &axes);
  Expr repeated(const Expr &value, const AxisNames &axes, const std::vector<std::string> &like,
                const Place &where);

  // batch.cpp
  Expr now(const Expr &expr);
  Expr made(const ExprNode &node);
  Expr let(const ExprNode &node);
  Expr start(const ExprNode &let, const Expr &value);
  Expr join(const ExprNode &node);
  OutputDecl output(std::size_t k);
  void check_function(const ExprNode &call) const;

  const std::string &label_now(const std::string &label) const {
    const auto found = one_further_.find(label);
    return found == one_further_.end() ? label : found->second;
  }
  AxisRef ref(const std::string &axis) const;
  AxisRef own_ref() const { return facts_.is_by_position() ? AxisRef(0) : AxisRef(axis_); }
  AxisRef moved(const AxisRef &axis, const Place &where) const {
    const auto *label = std::get_if<std::string>(&axis.value());
    return label != nullptr ? AxisRef(label_now(*label)) : ref(facts_.name(axis, where));
  }
  std::vector<AxisRef> refs(const AxisNames &axes) const;
  std::vector<AxisRef> listed(const AxisNames &axes) const; // the new one before them
  std::string fresh(const std::string &name);
  Expr add_let(Expr let);
  std::string named(const std::string &array); // by like= or of=
  [[noreturn]] void fail(const std::string &why, const Place &where,
                         const std::string &help) const {
    facts_.fail(why, where, help);
  }

  const SpecData &data_;
  const std::string axis_;
  const std::set<std::string> &inputs_;
  BatchFacts facts_;
  std::set<std::string> names_; // taken
  SpecData made_;
  std::unordered_map<std::string, std::shared_ptr<const InputDecl>> decls_; // whole inputs now
  std::unordered_map<std::string, Expr> lets_now_;
  std::unordered_map<std::string, std::string> renamed_;     // axes of sums that are lets now
  std::unordered_map<std::string, std::string> one_further_; // h_0, of an h that gets the axis
  std::unordered_map<std::string, Expr> lenders_;            // by the input
  std::set<std::string> declared_;
  std::vector<std::shared_ptr<const InputDecl>> windows_; // that are named
  // Sums back through windows that are all terms of a let or an output, which says how their dims
  // are called. Of an output: the dims of this array.
  std::set<const ExprNode *> terms_of_lets_;
  std::unordered_map<const ExprNode *, std::size_t> terms_of_outputs_;
  std::unordered_map<std::size_t, std::string> dims_of_outputs_;
  std::unordered_map<std::string, AxisNames> seen_by_; // by such an array: its dims before
  int place_ = 0;                                      // of the new axis, where others are counted
  expr::Exchange exchange_;
  std::vector<Expr> kept_;
};

} // namespace broadloom::grad
