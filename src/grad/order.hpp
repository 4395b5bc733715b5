// Inside the gradient stage: all expressions that some roots are made of, in an order without
// recursion.
#pragma once

#include "expr/node.hpp"

#include <unordered_set>
#include <utility>
#include <vector>

namespace broadloom::grad {

// Each once, behind parts(expr), the expressions that it is made of; an empty one is skipped.
template <class Parts> std::vector<Expr> in_order(const std::vector<Expr> &roots, Parts parts) {
  struct Open {
    Expr expr;
    std::vector<Expr> parts;
    std::size_t next = 0;
  };
  std::unordered_set<const ExprNode *> seen;
  std::vector<Open> stack;
  std::vector<Expr> order;
  const auto open = [&](const Expr &expr) {
    if (!expr.node() || !seen.insert(expr.node()).second) return;
    stack.push_back({expr, parts(expr)});
  };
  for (const Expr &root : roots) {
    open(root);
    while (!stack.empty()) {
      Open &top = stack.back();
      if (top.next == top.parts.size()) {
        order.push_back(top.expr);
        stack.pop_back();
        continue;
      }
      const Expr part = top.parts[top.next++];
      open(part);
    }
  }
  return order;
}

} // namespace broadloom::grad
