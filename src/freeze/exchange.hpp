// Inside the freeze stage: expressions of a kernel with parts of them exchanged, where lets keep their names.
#pragma once

#include "expr/walk.hpp"

#include <unordered_map>
#include <vector>

namespace broadloom::freeze {

class Exchange {
public:
  // From now on this stands in place of the node, whose expression must live as long as this.
  void put(const ExprNode *node, Expr instead) { instead_.emplace(node, std::move(instead)); }
  bool has(const ExprNode *node) const { return instead_.count(node) != 0; }

  // What is read in its place: all is `put` before.
  Expr operator()(const Expr &expr) {
    walker_.walk(expr.node(), [&](const ExprNode &node) {
      if (has(&node)) return;
      std::vector<Expr> args;
      bool changed = false;
      for (const Expr &arg : node.args) {
        const auto found = instead_.find(arg.node());
        args.push_back(found == instead_.end() ? arg : found->second);
        changed = changed || found != instead_.end();
      }
      if (!changed) return;
      put(&node, node.kind == ExprKind::Let ? make_let(node.name, args[0], node.where)
                                            : with_args(node, std::move(args)));
    });
    const auto found = instead_.find(expr.node());
    return found == instead_.end() ? expr : found->second;
  }

private:
  expr::Walker walker_;
  std::unordered_map<const ExprNode *, Expr> instead_;
};

} // namespace broadloom::freeze
