// Inside the analysis: a kernel on its way to kernels of its lets and of the rest
// (materialise.hpp).
#pragma once

#include "expr/join.hpp"
#include "expr/window.hpp"
#include "spec/cut.hpp"
#include "spec/declared.hpp"
#include "spec/walked.hpp"
#include "spec/wishes.hpp"
#include "support/fail.hpp"
#include "support/reasons.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace broadloom::spec {

class Splitter {
public:
  Splitter(const SpecData &data, const std::function<TypedSpec(const SpecData &)> &analyse,
           bool is_scheduled)
      : data_(data), analyse_(analyse), lets_(lets_by_name(data)), is_scheduled_(is_scheduled) {}

  std::optional<Split> run();

private:
  using Circle = std::vector<std::string>; // lets that read each other
  using Circles = std::vector<Circle>;
  using Needs = std::unordered_map<std::string, Names>;

  static const std::string *let_read(const InputDecl &decl) {
    return decl.window && decl.window->of->is_let ? &decl.window->of->name : nullptr;
  }

  void find();
  void check_scheduled() const;
  void check_ahead(const ExprNode &node) const;

  // Of a node that reads ahead.
  static const std::string &let_called(const ExprNode &node) {
    return node.input->window ? node.input->window->of->name : node.input->name;
  }

  [[noreturn]] void fail_no_loop(const std::string &name) const;

  // Whether a let is a part of the step of one that reads itself: it is no value elsewhere.
  bool reads_a_loop(const Expr &let) const {
    bool found = false;
    walk_kernel(let, [&](const ExprNode &node) { found = found || reads_ahead(node); });
    return found;
  }

  Names lets_of_arrays_alone() const;
  // order_lets.cpp
  std::vector<std::vector<std::string>> in_order();
  Circles circles_of(const std::vector<std::string> &names, const Needs &needs) const;

  // loops_together.cpp
  bool note_earlier_reads(const Circles &circles, Needs &needs) const;
  Circles together(Circles circles, const Needs &needs) const;
  std::vector<const ExprNode *> reads_of(const Expr &value, const Names &lets) const;

  // Without what lets that are arrays are made of.
  template <class Visit> void walk_kernel(const Expr &root, Visit visit) const {
    expr::reach(root.node(), [&](const ExprNode &node) {
      visit(node);
      return node.kind != ExprKind::Input &&
             (node.kind != ExprKind::Let || !wanted_.contains(node.name));
    });
  }

  // The lets that a value needs as arrays, as far as the nearest of them: what these need is their
  // own business.
  Names needed_by(const Expr &root) const;
  bool walks(const Expr &value, const std::string &label) const;
  std::vector<std::shared_ptr<const InputDecl>> axes_of(const Expr &value) const;
  void add_said_of_outputs(const Expr &value,
                           std::vector<std::shared_ptr<const InputDecl>> &axes) const;

  SpecData kernel_of(const std::string &name, Expr value, const Place &where,
                     const std::vector<AxisRef> &axes, std::shared_ptr<const InputDecl> said = {},
                     Order store = Order::none) const;

  // With what the schedule says of it, if it is to be run. What derives from it knows no lets that
  // a clause could name.
  SpecData scheduled(SpecData data, const std::string &let) const {
    if (is_scheduled_) data.schedule = part_of(data_.schedule, let);
    return data;
  }

  bool asks_for(const std::string &let) const {
    return !part_of(data_.schedule, let).clauses().empty();
  }

  void materialise(const std::string &name);
  // split_joins.cpp
  Join join_of(const ExprNode &let);
  void check_label(const ExprNode &let, std::size_t joined, const PlaceOf &shown) const;
  std::vector<Join::Position> positions_of(const std::vector<AffineForm> &forms) const;
  std::uint32_t number_of(const std::string &array) const;
  static void add_axis(TypedSpec &typed, const AxisRef &axis, std::size_t dim);
  void add_array(const std::string &name, const TypedSpec &typed, const Place &where);

  // `let s[t, p] = sum(e, like=x[t, i + u])` has the dims of x, which have no labels, and names
  // them. So do sums of such.
  bool names_its_dims(const ExprNode &let) const;
  // What its kernel lists.
  std::vector<AxisRef> axes_listed(const ExprNode &let) const {
    return names_its_dims(let) ? std::vector<AxisRef>() : let.axes;
  }
  void check_dims(const ExprNode &let, const TypedSpec &typed) const;
  void materialise_loop(const std::vector<std::string> &names);
  friend class LoopSplitter;
  friend class LoopsTogether;

  void declare(SpecData &data) const;
  static std::shared_ptr<const InputDecl> idle(const InputDecl &decl);
  // What is said, by extents of the lets so far as inputs.
  std::shared_ptr<const InputDecl> of_arrays(const std::shared_ptr<const InputDecl> &said) const {
    return said_over(said, inputs_for(arrays_));
  }
  void check_pads(const InputDecl &window, std::size_t rank) const;
  void check_pads(const InputDecl &read) const; // of an array
  Expr rewritten(const Expr &root);
  Expr as_array(const ExprNode &node) const;

  const SpecData &data_;
  const std::function<TypedSpec(const SpecData &)> &analyse_;
  Names wanted_;
  std::unordered_map<std::string, Names> lets_of_window_; // of those that are named
  std::unordered_map<std::string, std::string> joined_;   // by part: the whole
  const LetsByName lets_;
  const bool is_scheduled_;
  LetArrays arrays_;
  Names loops_; // those that read themselves or each other
  std::vector<std::shared_ptr<const InputDecl>> before_,
      before_windows_; // of the loop in the making
  expr::Exchange exchange_;
  Split split_;
};

} // namespace broadloom::spec
