// See forward.hpp.
#include "grad/forward.hpp"

#include "support/check.hpp"

namespace broadloom::grad {
bool is_free(const Expr &value) {
  Expr inner = value_of(value);
  while (inner.node()->kind == ExprKind::Cast) inner = value_of(inner.node()->args[0]);
  switch (inner.node()->kind) {
  case ExprKind::Input:
  case ExprKind::Literal:
  case ExprKind::Extent:
  case ExprKind::Iota:
  case ExprKind::Parameter: return true;
  case ExprKind::Op:
  case ExprKind::Cast:
  case ExprKind::Fold:
  case ExprKind::Scan:
  case ExprKind::Let:
  case ExprKind::Join:
  case ExprKind::Call: return false;
  }
  support::bug("is_free: unknown kind");
}

bool is_another_name(const ExprNode &node) {
  return node.kind == ExprKind::Let ||
         (node.kind == ExprKind::Op && (node.op == ops::Op::Keep || node.op == ops::Op::Recompute));
}

Expr value_of(Expr expr) {
  while (is_another_name(*expr.node())) expr = expr.node()->args[0];
  return expr;
}

void ForwardValues::Marked::add(const Expr &value, facts::Facts &facts) {
  single_.insert(value.node());
  if (!facts.is_scoped(value)) nodes_.insert(facts.node(value).index);
}

bool ForwardValues::Marked::has(const Expr &value, facts::Facts &facts) const {
  return single_.count(value.node()) != 0 ||
         (!facts.is_scoped(value) && nodes_.count(facts.node(value).index) != 0);
}

void ForwardValues::add(const Expr &root) {
  walker_.walk(root.node(), [&](const ExprNode &node) {
    if (node.kind != ExprKind::Op) return;
    if (node.op == ops::Op::Keep) keep_.add(value_of(node.args[0]), facts_);
    if (node.op == ops::Op::Recompute) recompute_.add(value_of(node.args[0]), facts_);
  });
}

std::vector<ReadValue> ForwardValues::read_by(const std::vector<Expr> &backward, Policy policy) {
  std::vector<ReadValue> read;
  std::unordered_set<const ExprNode *> seen;
  std::vector<Expr> work(backward.rbegin(), backward.rend());
  while (!work.empty()) {
    const Expr expr = work.back();
    work.pop_back();
    const ExprNode &node = *expr.node();
    if (!seen.insert(&node).second) continue;
    if (walker_.seen(&node) && !is_another_name(node)) {
      if (is_free(expr) || facts_.inputs(expr).empty()) continue;
      const bool recomputed = is_recomputed(expr);
      if (policy != Policy::save || (!recomputed && facts_.can_be_saved(expr))) {
        read.push_back({expr, is_kept(expr), recomputed});
        continue;
      }
    }
    for (std::size_t k = node.args.size(); k-- > 0;) work.push_back(node.args[k]);
  }
  return read;
}

} // namespace broadloom::grad
