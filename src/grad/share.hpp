// Equal parts of derived expressions, once.
//
//   let e = exp(x - m)                    let e = exp(x - m)
//   out y = exp(x - m) / 2 + h / 2        let t0 = h / 2
//   out z = e * (h / 2)                   out y = e / 2 + t0, z = e * t0
#pragma once

#include "spec/spec.hpp"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace broadloom::grad {

// Equal expressions become one node, of operations, numbers, casts, inputs, and folds with built-in
// accumulators.
class OneOfEach {
public:
  // The node that was met first of those that equal it; its arguments are such nodes.
  Expr of(const Expr &expr);

private:
  using Key = std::tuple<ExprKind, int, std::int64_t, std::int64_t, std::string,
                         std::vector<const ExprNode *>>;
  std::map<Key, Expr> known_;
};

// All of a kernel with one node for equal expressions, so that each is printed, and named, once.
void share(SpecData &data);

} // namespace broadloom::grad
