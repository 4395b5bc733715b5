// Derived expressions as a person would write them. No bit of any value changes.
//
//   3 * x^(3 - 1)                                3 * x^2
//   where(3 == 0, 0, e)                          e
//   where(t, where(t, d, 0) / 2, 0)              where(t, d / 2, 0)
//   where(!t, 0, e)                              where(t, e, 0)
//   a + -b, e + e                                a - b, 2 * e
//   where(t || !t, e, 0), (t || !t) && u         e, u
//   t && u || t && !u                            t
//
// What a kernel says itself stays as it is written.
#pragma once

#include "facts/facts.hpp"
#include "grad/share.hpp"

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace broadloom::grad {

// Iterative.
class Tidier {
public:
  // Whether what is read may become less: not where the shape of a result goes by that.
  enum class Reads : std::uint8_t { Fewer, Same };
  Tidier(facts::Facts &facts, Reads reads) : facts_(facts), reads_(reads) {}
  // For a clause of an accumulator, where types are known at its uses only, and nothing has axes.
  // `numbers`: arguments and states that are never bool, so that a 0 beside them has their type.
  Tidier(facts::Facts &facts, std::unordered_set<std::string> numbers)
      : facts_(facts), reads_(Reads::Fewer), in_clause_(true), numbers_(std::move(numbers)) {}

  // What is to be left as it is, with all that it is made of.
  void leave(const Expr &root);
  Expr run(const Expr &root);

private:
  Expr current(const Expr &expr);
  Expr made(ops::Op op, std::vector<Expr> args, const Place &where);
  Expr simple(ops::Op op, const std::vector<Expr> &args, const Place &where);
  Expr simple_where(const std::vector<Expr> &args, const Place &where);
  Expr folded(ops::Op op, const std::vector<Expr> &args, const Place &where) const;
  Expr given(const Expr &condition, bool holds, const Expr &value, int depth);
  bool may_drop(const Expr &dropped, const Expr &left);
  // Does a choice between both have the type of the first?
  bool chooses_type_of(const Expr &chosen, const Expr &other);
  bool is_never_bool(const Expr &expr, int depth); // and no number as it is written
  // As far as it is plain to see: none of numbers, calls, and accumulators of one's own.
  std::optional<DType> type(const Expr &expr);

  facts::Facts &facts_;
  const Reads reads_;
  const bool in_clause_ = false;
  const std::unordered_set<std::string> numbers_;
  OneOfEach one_;
  expr::Walker walker_;
  std::unordered_set<const ExprNode *> left_;
  std::unordered_map<const ExprNode *, Expr> now_;
  std::vector<Expr> alive_; // whose nodes are keys
  expr::Walker types_walker_;
  std::unordered_map<const ExprNode *, std::optional<DType>> types_;
};

} // namespace broadloom::grad
