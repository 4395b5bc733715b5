// For gradients and scales: calls of functions that say what their derivatives are.
//
//   def f(a, b) = a ^ b                 z = f(p, q), with cotangent d_z:
//     derivative a = g * b / a          p gets d_z * q / p: the clause, a and b being p and q, g
//                                       being d_z q gets what flows through p' ^ q, where p' is p
//                                       as a constant
//
// Functions without clauses were written out before; these calls stay, in what is derived too, so
// that a gradient of the gradient meets the clauses again.
#pragma once

#include "expr/function.hpp"
#include "facts/terms.hpp"
#include "spec/expand.hpp"

#include <string>
#include <unordered_map>

namespace broadloom::facts {

class Calls {
public:
  explicit Calls(const SpecData &data)
      : expander_(spec::Calls::WithoutDerivatives, "kernel '" + data.name + "'",
                  data.source.get()) {}

  // The clause for the argument, null where there is none.
  static const FunctionDecl::Derivative *clause(const FunctionDecl &function, std::size_t arg);
  // It, for this call and this cotangent.
  Expr by_clause(const ExprNode &call, const FunctionDecl::Derivative &clause, const Expr &g);
  // Is there anything of a clause in what is derived?
  bool used() const { return used_; }
  // A plain 0 stops what flows: not even infinity times it goes on.
  static bool is_zero(const FunctionDecl::Derivative &clause);
  // A clause or the body of a function: does each of its elements follow from the same element of
  // what it reads?
  bool is_elementwise(const Expr &defined);

  // The call written out, its arguments with a clause as constants; empty where all have one.
  Expr by_body(const Expr &call);
  bool is_constant(const ExprNode *node) const { return constants_.count(node) != 0; }
  // An expression with what the constants stand for.
  Expr restored(const Expr &expr) const;

private:
  Expr constant(const Expr &arg);

  spec::Expander expander_;
  bool used_ = false;
  std::unordered_map<const FunctionDecl *, std::shared_ptr<const FunctionDecl>> bare_;
  std::unordered_map<const ExprNode *, Expr> bodies_;    // by call
  std::unordered_map<const ExprNode *, Expr> constants_; // what each is
  std::unordered_map<const ExprNode *, Expr> copies_;    // the constant that is this argument
  std::vector<Expr> kept_; // what is known by its address must not go away
  std::unordered_map<const ExprNode *, bool> elementwise_;
};

} // namespace broadloom::facts
