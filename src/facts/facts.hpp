// For gradients and scales: what is known of the expressions of the kernel that is differentiated,
// and of those made from them.
#pragma once

#include "facts/calls.hpp"
#include "facts/terms.hpp"
#include "spec/sets.hpp"
#include "type/typer.hpp"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace broadloom::facts {

using expr::AxisSet;

class Facts {
public:
  // `wrt`: the inputs asked for.
  Facts(const SpecData &data, const std::vector<std::string> &wrt);

  // Must be told of every expression of the kernel before it is asked about it.
  void add(const Expr &root);

  // The axes of a value. Of any expression: new ones and the new inputs (by `declare`) too.
  AxisSet axes(const Expr &root);
  void declare(const std::string &input,
               const std::vector<int> &dims); // at most one for each output
  // An input that the kernel lacks, along the axes and with the extents of one that it has.
  void declare_like(const std::string &name, const std::string &like) { likes_[name] = like; }
  // Such an input has the extents of this value.
  void declare_shape(const std::string &name, const Expr &value) { shapes_[name] = value; }
  // Whether an input is as long along an axis as another, in any call.
  bool is_as_long(const std::string &input, const std::string &other, int axis);
  // The axis of each dim: of any input, new ones and their windows too.
  std::vector<int> dims(const InputDecl &input) const;
  // The axes of what is like an input, or of what is summed through a window.
  AxisSet axes_like(const std::vector<std::string> &names, const Place &where) const;
  // The window of the kernel that like= names; null where it names none.
  const InputDecl *window_called(const std::vector<std::string> &like) const;

  DType dtype(const Expr &expr) { return typer_.dtype(typer_.type(plain(expr), {})); }
  // Equal expressions have equal nodes.
  expr::NodeId node(const Expr &expr) { return typer_.type(plain(expr), {}).node; }
  bool is_complex(const Expr &expr) { return broadloom::is_complex(dtype(expr)); }
  // Real or complex: something can flow back into it.
  bool is_continuous(const Expr &expr) {
    const DType type = dtype(expr);
    return is_float(type) || broadloom::is_complex(type);
  }
  // Can it be an output of its own, with every bit that it has here? What f16 and bf16 operations
  // hand each other has no dtype.
  bool can_be_saved(const Expr &expr) {
    const type::Value value = typer_.type(plain(expr), {});
    return !value.narrow && !value.weak && !is_scoped(expr);
  }
  // Does it hold an index whose extent comes from the expression around it? Calls that stay may.
  bool is_scoped(const Expr &expr) { return reads_[plain(expr)].scoped; }
  // Does an input that is asked for reach it?
  bool depends(const Expr &expr) const { return depends_.count(expr.node()) != 0; }

  const spec::TypedSpec &spec() const { return spec_; }
  const spec::Space &space() const { return space_; }
  std::vector<std::size_t> inputs(const Expr &expr) { return reads_.inputs(plain(expr)); }
  Calls &calls() { return calls_; }
  // A call through its body, known as the expressions of the kernel are: see calls.hpp.
  Expr by_body(const Expr &call);
  AxisRef axis_ref(int axis) const;
  std::vector<AxisRef> axis_refs(AxisSet axes) const;
  // An accumulator that the gradient needs: made once, under this name or one that is free.
  template <class Make> Accumulator helper(const std::string &name, Make make) {
    const auto found = helpers_.find(name);
    if (found != helpers_.end()) return found->second;
    return helpers_.emplace(name, make(free_name(name))).first->second;
  }

  // Inputs that give an expression the extent of an axis: not those that are folded along it, of
  // sum(x, like=w) only w, and one of those that a label makes equal. Of any expression, as `axes`.
  std::vector<std::string> lenders(const Expr &expr, int axis);
  // That extent, and the index along it.
  Expr extent(const Expr &expr, int axis, const Terms &t) {
    return make_extent(axis_ref(axis), lenders(expr, axis), t.place());
  }
  Expr index(const Expr &expr, int axis, const Terms &t) {
    return make_iota(axis_ref(axis), lenders(expr, axis), t.place());
  }
  // The expression, with each extent and index saying of which inputs it is: a part of it means the
  // same anywhere. The expression must be a whole one.
  Expr bound(const Expr &root);
  bool is_firm(AxisSet axes) const; // along each of them: see bind.hpp
  // May the expression have extent 1 along an axis at a call?
  bool may_be_one(const Expr &expr, int axis);
  // May the expression have extent 1 along an axis where another of the kernel has more?
  bool may_be_repeated(const Expr &expr, int axis) {
    return may_be_repeated(lenders(expr, axis), axis);
  }
  bool may_be_repeated(const std::vector<std::string> &lenders, int axis) const;

private:
  struct Lenders { // along one axis
    expr::Walker walker;
    std::unordered_map<const ExprNode *, spec::SetId> of;
  };
  spec::SetId lenders_of(const ExprNode &node, int axis, const Lenders &known);

  std::string free_name(const std::string &name) const;
  // Without any calls: the later stages know none.
  Expr plain(const Expr &expr) { return expander_.expand(expr); }

  spec::TypedSpec spec_;
  spec::Space space_;
  spec::Reads reads_;
  type::Typer typer_;
  spec::Expander expander_;
  Calls calls_;
  expr::Walker walker_, axes_walker_;
  std::vector<std::string> wrt_;
  std::unordered_set<const ExprNode *> depends_;
  std::unordered_map<const ExprNode *, AxisSet> axes_;
  std::unordered_map<int, Lenders> lenders_;
  std::unordered_map<std::string, Expr> shapes_; // by the name of an input
  spec::InputSets sets_;
  std::unordered_map<const ExprNode *, Expr> bodies_; // by call
  std::vector<Expr> kept_; // what axes_, bodies_ and lenders_ know must not go away
  struct NewInput {
    AxisSet axes;
    std::vector<int> dims;
    std::size_t id; // in sets_, after those of the kernel
  };
  std::unordered_map<std::string, NewInput> new_inputs_;
  std::vector<std::string> new_names_;                 // by id
  std::unordered_map<std::string, std::string> likes_; // new inputs and windows
  std::unordered_map<std::string, std::shared_ptr<const InputDecl>> windows_;
  std::unordered_set<std::string> accumulators_; // of the kernel
  std::unordered_map<std::string, Accumulator> helpers_;
};

} // namespace broadloom::facts
