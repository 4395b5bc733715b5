// Visiting expressions without recursion: arguments before their users, every node once.
#pragma once

#include "expr/node.hpp"

#include <unordered_set>
#include <utility>
#include <vector>

namespace broadloom::expr {

// Remembers what it has seen, so that one walker over several roots still visits every node once.
class Walker {
public:
  // Calls visit(node) after its arguments; a null argument is skipped.
  template <class Visit> void walk(const ExprNode *root, Visit visit) {
    walk(root, visit, [](const ExprNode &) { return true; });
  }
  // The same without the arguments for which enter(node) does not hold, and what is read through
  // these alone.
  template <class Visit, class Enter> void walk(const ExprNode *root, Visit visit, Enter enter) {
    if (!root || !seen_.insert(root).second) return;
    stack_.push_back({root, 0});
    while (!stack_.empty()) {
      auto &[node, next] = stack_.back();
      if (next == node->args.size()) {
        const ExprNode *done = node;
        stack_.pop_back();
        visit(*done);
        continue;
      }
      const ExprNode *arg = node->args[next++].node();
      if (arg && enter(*arg) && seen_.insert(arg).second) stack_.push_back({arg, 0});
    }
  }

  bool seen(const ExprNode *node) const { return seen_.count(node) != 0; }

private:
  std::unordered_set<const ExprNode *> seen_;
  std::vector<std::pair<const ExprNode *, std::size_t>> stack_;
};

// Calls enter(node) once for each node, users first, and goes on to the arguments of those for
// which it gives true.
template <class Enter> void reach(const ExprNode *root, Enter enter) {
  std::unordered_set<const ExprNode *> seen;
  std::vector<const ExprNode *> open{root};
  while (!open.empty()) {
    const ExprNode *node = open.back();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second || !enter(*node)) continue;
    for (const Expr &arg : node->args) open.push_back(arg.node());
  }
}

} // namespace broadloom::expr
