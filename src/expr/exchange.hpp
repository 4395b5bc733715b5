// Expressions of a kernel with parts of them exchanged, where lets keep their names.
#pragma once

#include "expr/walk.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace broadloom::expr {

class Exchange {
public:
  // From now on this stands in place of the node, whose expression must live as long as this.
  void put(const ExprNode *node, Expr instead) {
    if (instead.node() != node) instead_.emplace(node, std::move(instead));
  }
  bool has(const ExprNode *node) const { return instead_.count(node) != 0; }

  // What is read in its place. `made(node)` is what stands there of a node that is met for the
  // first time and was not `put`; an empty
  // one: the same over what its arguments have become.
  template <class Made> Expr run(const Expr &expr, Made made) {
    walker_.walk(expr.node(), [&](const ExprNode &node) {
      if (has(&node)) return;
      if (Expr instead = made(node); instead.node()) return put(&node, std::move(instead));
      if (changes(node)) put(&node, with_args(node, args_of(node)));
    });
    return now(expr);
  }

  // What stands in the place of what was met before, and of the arguments of a node.
  Expr now(const Expr &expr) const {
    const auto found = instead_.find(expr.node());
    return found == instead_.end() ? expr : found->second;
  }
  std::vector<Expr> args_of(const ExprNode &node) const {
    std::vector<Expr> args;
    for (const Expr &arg : node.args) args.push_back(now(arg));
    return args;
  }
  bool changes(const ExprNode &node) const {
    return std::ranges::any_of(node.args, [&](const Expr &arg) { return has(arg.node()); });
  }

  // The same where all is `put` before.
  Expr operator()(const Expr &expr) {
    return run(expr, [](const ExprNode &) { return Expr(); });
  }

private:
  Walker walker_;
  std::unordered_map<const ExprNode *, Expr> instead_;
};

} // namespace broadloom::expr
