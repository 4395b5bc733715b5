// Inside the gradient stage: how the backward pass comes by the values of the forward one.
//
//   z = exp(x * y)      d_x = d_z * exp(x * y) * y      it reads exp(x * y), and y, which is an
//                                                       input
//
//   auto        exp(x * y) is computed again; a keep() or recompute() of the kernel stays around it
//   recompute   recompute(exp(x * y))
//   save        saved_0, an output of the forward kernel and an input of the backward one
#pragma once

#include "facts/facts.hpp"

#include <broadloom/gradient.hpp>

namespace broadloom::grad {

// Lets and marks stand for the values in them.
bool is_another_name(const ExprNode &node);
Expr value_of(Expr expr);
bool is_free(const Expr &value); // an input, a number, or one of these cast

// A forward value that the backward pass reads itself and that costs an operation.
struct ReadValue {
  Expr value;
  bool kept = false, recomputed = false; // the kernel says keep() or recompute() of it

  // Its value is at hand wherever it is read: it is computed once in any case.
  bool is_reduction() const {
    return value.node()->kind == ExprKind::Fold || value.node()->kind == ExprKind::Scan;
  }
};

class ForwardValues {
public:
  explicit ForwardValues(facts::Facts &facts) : facts_(facts) {}

  // Must be told of every expression of the forward pass, after the facts.
  void add(const Expr &root);

  // Those that these expressions read, in the order in which they are met. With `save` a value to
  // be recomputed is read by what it is made of, and so is one that exists between f16 or bf16
  // operations only and has no dtype to be saved in.
  std::vector<ReadValue> read_by(const std::vector<Expr> &backward, Policy policy);

  bool is_kept(const Expr &value) const { return keep_.has(value, facts_); }
  bool is_recomputed(const Expr &value) const { return recompute_.has(value, facts_); }

private:
  // Equal values are marked together; of values that cannot be typed by themselves only this very
  // one.
  class Marked {
  public:
    void add(const Expr &value, facts::Facts &facts);
    bool has(const Expr &value, facts::Facts &facts) const;

  private:
    std::unordered_set<const ExprNode *> single_;
    std::unordered_set<std::uint32_t> nodes_;
  };

  facts::Facts &facts_;
  expr::Walker walker_;
  Marked keep_, recompute_;
};

} // namespace broadloom::grad
