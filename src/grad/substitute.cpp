// See substitute.hpp.
#include "grad/substitute.hpp"

namespace broadloom::grad {
Expr exchange(const Expr &root, const std::function<Expr(const ExprNode &)> &exchange) {
  std::unordered_map<const ExprNode *, Expr> now; // without an entry: as it was
  const auto current = [&](const Expr &expr) {
    const auto found = now.find(expr.node());
    return found == now.end() ? expr : found->second;
  };
  expr::Walker().walk(root.node(), [&](const ExprNode &node) {
    Expr made = exchange(node);
    std::vector<Expr> args;
    for (const Expr &arg : node.args) args.push_back(current(arg));
    bool changed = false;
    for (std::size_t k = 0; k < args.size(); ++k)
      changed = changed || args[k].node() != node.args[k].node();
    if (!made.node() && changed) made = with_args(node, std::move(args));
    if (made.node()) now.emplace(&node, made);
  });
  return current(root);
}

Expr substitute(const Expr &root, const std::unordered_map<std::string, Expr> &names) {
  return exchange(root, [&](const ExprNode &node) {
    if (node.kind != ExprKind::Parameter) return Expr();
    const auto found = names.find(node.name);
    return found == names.end() ? Expr() : found->second;
  });
}

} // namespace broadloom::grad
