// Inside the stage that moves scales: from values back to a kernel.
#pragma once

#include "scale/factor.hpp"

#include <functional>

namespace broadloom::scale {

// Expressions of constants: each made once, so that the text says it once.
class Constants {
public:
  // `built` has the expressions of all constants by now.
  Constants(const Values &values, const std::vector<Expr> &built)
      : values_(values), built_(built) {}

  Expr product(Id constant, const Factor &factor); // constant * factor
  Expr product(const Expr &data, const Factor &factor, Place where);
  Expr alone(const Factor &factor);                  // which is not 1
  Expr op(ops::Op op, const Expr &a, const Expr &b); // of two constants, made once

private:
  // The numerator and the denominator; empty where it is 1.
  std::pair<Expr, Expr> parts(const Factor &factor, const Place &where);
  Expr power(const Factor::Base &base, int halves, const Place &where);

  const Values &values_;
  const std::vector<Expr> &built_;
  std::map<std::vector<std::pair<Factor::Base, int>>, Expr> factors_;
  std::map<std::pair<Factor::Base, int>, Expr> counted_;
  std::map<std::tuple<ops::Op, const ExprNode *, const ExprNode *>, Expr> ops_;
};

// What a value becomes, given what its arguments have become; an empty one: the same over these.
using Made = std::function<Expr(Id id, const std::vector<Expr> &args)>;

// The kernel over the values that `made` gives. `built` gets them by id. Lets keep their names;
// those that nothing reads any more go, unless a schedule or a pairing names them.
SpecData rebuild(const SpecData &data, const Values &values, std::vector<Expr> &built,
                 const Made &made);

// The same kernel with its axes in the order that they have in `before`: windows that are now read
// in another order become lets.
void keep_axis_order(const SpecData &before, SpecData &data);

} // namespace broadloom::scale
