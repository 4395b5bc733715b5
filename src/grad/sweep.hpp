// Inside the gradient stage: the backward sweep over expressions.
//
//   z = x * exp(y),  cotangent g of z       exp(y) gets g * x,  y gets (g * x) * exp(y),  x gets g
//                                           * exp(y)
//
// Nodes are visited users first. What flows into a node is the sum over its users. A cotangent has
// the axes of its node: what the node was repeated along by its user is folded at once. Whether a
// dim of 1 was repeated is known at a call only; there sum(.., like=x) at the inputs undoes it, and
// until then a cotangent may have a greater extent than its node. Two of them that may differ in
// that are made alike before they are added (shape.hpp).
//
//   z = x - sum(x, j),  cotangent g of z    sum(x, j) gets s = -sum(g, j),  x gets g + s
//
// What comes back through a fold with acc= is summed so, too, where all ways out of a node lead
// through such folds first:
//
//   z = sum(x * w, k, acc=f32)              x gets sum(g * w, like=x, acc=f32)
//
// A cotangent may lack an axis of its node: it is the same all along it. So what a fold sends back
// is repeated by what it meets. Only where extents may differ at a call (Facts::is_firm) it is
// repeated at once.
#pragma once

#include "facts/facts.hpp"
#include "grad/rules.hpp"

namespace broadloom::grad {

class Sweep {
public:
  explicit Sweep(facts::Facts &facts) : facts_(facts) {}

  // g flows into the root; then `run` once for all roots.
  void seed(const Expr &root, const Expr &g);
  void run();

  // What has come together at a node, or nothing.
  const Cotangent *at(const ExprNode *node) const;

  // What has flowed into an input, one for each way in; axes that the input lacks are not folded
  // yet.
  const std::vector<Expr> &into_input(const std::string &name) { return inputs_[name]; }

  // How what has flowed into an input is summed.
  FoldUse sum_into_input(const InputDecl &input);

  // From the node that is visited into one of its arguments.
  void flow(const Expr &into, Cotangent cotangent, const facts::Terms &t);
  // All of a cotangent at position 0 of an axis where `single` holds, as `position` counts.
  Cotangent at_start(const Cotangent &cotangent, const Expr &single, const Expr &position, int axis,
                     const facts::Terms &t);
  // The mask of a value after it was summed over these axes: 0 for certain only where all that was
  // added is.
  Expr any_over(const Expr &mask, expr::AxisSet axes, const facts::Terms &t);
  facts::Facts &facts() { return facts_; }

private:
  using Acc = std::optional<DType>; // as written; nothing: the usual one
  void visit(const Expr &node);
  Acc acc_of_visited() const;
  static FoldUse sum_in(Acc acc, DType type);
  // A call by its body, a fold over several axes by rows; empty: neither.
  Expr body_of(const Expr &expr);
  void visit_op(const ExprNode &node, const Expr &self, const Cotangent &g);
  void visit_cast(const ExprNode &node, const Cotangent &g);
  void visit_call(const Expr &self, const Cotangent &g);
  void check_mixed(const Expr &self, const FunctionDecl::Derivative &clause);
  Expr counted(const Expr &into, const Expr &value, const facts::Terms &t);
  Cotangent alike(const Expr &node, const Cotangent &cotangent, const Expr &other,
                  const facts::Terms &t);

  facts::Facts &facts_;
  std::vector<Expr> roots_;
  std::unordered_map<const ExprNode *, Expr> rows_; // by fold
  Expr visited_;
  std::unordered_map<std::string, std::vector<Expr>> inputs_;
  std::unordered_map<std::string, Acc> acc_of_input_;
  std::unordered_map<const ExprNode *, Cotangent> cotangents_;
  std::unordered_map<const ExprNode *, Acc> accs_;
};

// folds.cpp: g is the cotangent of a Fold or a Scan.
void pull_fold(Sweep &sweep, const Expr &fold, const Cotangent &g);
void pull_scan(Sweep &sweep, const Expr &scan, const Cotangent &g);

// dual.cpp, of a Fold or a Scan: would its result move if argument k did? An exponent that is
// counted beside does not move a mantissa.
bool moves_result(facts::Facts &facts, const Expr &self, std::size_t k);

// The same sweep over an expression of a definition: the cotangents of its parameters.
std::unordered_map<std::string, Expr> pull_defined(facts::Facts &facts, const Expr &root,
                                                   const Expr &seed);

// Throws SpecError E0602 or E0601 where an integer that something would flow through was made of a
// float.
void check_integer(facts::Facts &facts, const Expr &root);

// Throws SpecError E0601: in an accumulator nothing else can stand.
void check_elementwise(facts::Facts &facts, const FunctionDecl &function,
                       const FunctionDecl::Derivative &clause);

[[noreturn]] void fail_no_rule(facts::Facts &facts, const std::string &what, const Place &where);

} // namespace broadloom::grad
