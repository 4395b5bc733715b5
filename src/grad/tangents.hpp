// Inside the gradient stage: the forward sweep over expressions.
//
//   z = x * exp(y),  x moves by t_x, y by t_y       exp(y) moves by t_y * exp(y),  z by t_x *
//                                                   exp(y) + (t_y * exp(y)) * x
//
// Nodes are visited behind their arguments. The slopes are those of the backward sweep (rules.cpp,
// folds.cpp). A tangent may lack an axis of its node, or have extent 1 along one: it is the same
// all along it. Where that matters, as under a fold, it is repeated.
//
// Where an untaken branch lies behind (`relu`), a tangent is 0 for certain, whatever slopes it
// meets: its mask says where it is not, and is applied only when something is added or folded.
#pragma once

#include "facts/facts.hpp"
#include "grad/rules.hpp"

#include <functional>

namespace broadloom::grad {

using Tangent =
    Cotangent; // what a value moves by: outside of the mask 0, whatever `value` is there

class Tangents {
public:
  // What an input or a window of it moves by; nothing: it does not move.
  using Read = std::function<Expr(const ExprNode &input)>;

  Tangents(facts::Facts &facts, Read read) : facts_(facts), read_(std::move(read)) {}

  void run(const std::vector<Expr> &roots);

  // What an expression moves by; empty: it does not.
  Expr at(const Expr &expr) const;
  // The same, repeated along the axes of the expression that it lacks, or may have extent 1 along.
  Expr whole(const Expr &expr) const { return repeated(expr, at(expr), true); }
  // Only the latter.
  Expr long_enough(const Expr &expr) const { return repeated(expr, at(expr), false); }

  Expr repeated(const Expr &expr, const Expr &tangent, bool along_all) const;

  facts::Facts &facts() const { return facts_; }

private:
  std::vector<Expr> moving_parts(const Expr &self);
  Tangent moved(const Expr &self);
  Tangent moved_call(const Expr &self);
  std::vector<bool> complex_of(const Expr &self) const;

  facts::Facts &facts_;
  Read read_;
  std::unordered_map<const ExprNode *, Tangent> tangents_;
  mutable std::unordered_map<const ExprNode *, Expr> settled_; // one node for one value
};

// The value with zeros outside of the mask.
Expr settled(const Tangent &tangent, const facts::Terms &t);
Tangent sum_of(const Tangent &a, const Tangent &b, const facts::Terms &t); // either may be empty

// tangent_folds.cpp: what a Fold or a Scan moves by, some argument of which moves.
Expr push_fold(const Tangents &tangents, const Expr &fold);
Expr push_scan(const Tangents &tangents, const Expr &scan);

// dual.cpp: the same by the definition of the accumulator, step by step.
Expr push_recurrence(const Tangents &tangents, const Expr &self);

// What an expression of a definition moves by, whose parameters move by these; empty: it does not.
Expr push_defined(facts::Facts &facts, const Expr &root,
                  const std::unordered_map<std::string, Expr> &moved);

} // namespace broadloom::grad
