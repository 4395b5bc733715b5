// For gradients and scales: expressions with some of their parts exchanged.
#pragma once

#include "expr/walk.hpp"

#include <functional>
#include <string>
#include <unordered_map>

namespace broadloom::facts {

// The roots with every node for which exchange(node) gives an expression replaced by it. Shared
// parts stay shared, and what nothing changes in is the old node. A let in which something changes
// loses its name, which the old one may still have beside it.
std::vector<Expr> exchange(const std::vector<Expr> &roots,
                           const std::function<Expr(const ExprNode &)> &exchange);
Expr exchange(const Expr &root, const std::function<Expr(const ExprNode &)> &exchange);

// Parameters by their names.
Expr substitute(const Expr &root, const std::unordered_map<std::string, Expr> &names);

} // namespace broadloom::facts
