// Inside the gradient stage: one name for one accumulator where kernels that are derived one by one
// come together again.
//
//   let h[b] = x[b]                                     the gradients of h and of y each make
//   out y[q] = prod(h[q + u], u) * scan(prod, w, u)     accumulators, and call them alike
#pragma once

#include "expr/definition.hpp"
#include "grad/rename_axes.hpp"
#include "spec/spec.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace broadloom::grad {

class AccumulatorNames {
public:
  // Takes those of the values as they are called there.
  explicit AccumulatorNames(const std::vector<Expr> &values) { own(values); }

  // The values, in which what is called like another accumulator has a name of its own. Iterative.
  std::vector<Expr> own(const std::vector<Expr> &values);
  Expr own(const Expr &value) { return own(std::vector{value}).front(); }

private:
  std::unordered_map<std::string, std::shared_ptr<const AccumulatorDef>> known_;
  Accumulators renamed_;
  std::vector<std::shared_ptr<const AccumulatorDef>> alive_; // those that lost their names
};

// All values that a kernel is made of.
std::vector<Expr> values_of(const SpecData &kernel);

} // namespace broadloom::grad
