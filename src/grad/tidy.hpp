// Derived expressions as a person would write them. No bit of any value changes.
//
//   3 * x^(3 - 1)                                3 * x^2
//   where(3 == 0, 0, e)                          e
//   where(t, where(t, d, 0) / 2, 0)              where(t, d / 2, 0)
//   where(!t, 0, e)                              where(t, e, 0)
//   a + -b, e + e                                a - b, 2 * e
//
// What a kernel says itself stays as it is written.
#pragma once

#include "grad/facts.hpp"

#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace broadloom::grad {

// Equal expressions become one node, of operations, numbers, casts, inputs, and folds with built-in accumulators.
class OneOfEach {
public:
  // The node that was met first of those that equal it; its arguments are such nodes.
  Expr of(const Expr &expr);

private:
  using Key =
      std::tuple<ExprKind, int, std::int64_t, double, std::string, std::vector<const ExprNode *>>;
  std::map<Key, Expr> known_;
};

// Iterative.
class Tidier {
public:
  explicit Tidier(Facts &facts) : facts_(facts) {}

  // What is to be left as it is, with all that it is made of.
  void leave(const Expr &root);
  Expr run(const Expr &root);

private:
  Expr current(const Expr &expr) const;
  Expr made(ops::Op op, std::vector<Expr> args, const Place &where);
  Expr simple(ops::Op op, const std::vector<Expr> &args, const Place &where);
  Expr simple_where(const std::vector<Expr> &args, const Place &where);
  Expr folded(ops::Op op, const std::vector<Expr> &args, const Place &where) const;
  Expr given(const Expr &condition, bool holds, const Expr &value, int depth);
  bool may_drop(const Expr &dropped, const Expr &left);
  // As far as it is plain to see: none of numbers, calls, and accumulators of one's own.
  std::optional<DType> type(const Expr &expr);

  Facts &facts_;
  OneOfEach one_;
  expr::Walker walker_;
  std::unordered_set<const ExprNode *> left_;
  std::unordered_map<const ExprNode *, Expr> now_;
  std::vector<Expr> alive_; // whose nodes are keys
  expr::Walker types_walker_;
  std::unordered_map<const ExprNode *, std::optional<DType>> types_;
};

// All of a kernel with one node for equal expressions, so that each is printed, and named, once.
void share(SpecData &data);

} // namespace broadloom::grad
