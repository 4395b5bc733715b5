// See substitute.hpp.
#include "facts/substitute.hpp"

#include "expr/exchange.hpp"

#include <unordered_set>

namespace broadloom::facts {

std::vector<Expr> exchange(const std::vector<Expr> &roots,
                           const std::function<Expr(const ExprNode &)> &exchange) {
  // What is read at positions, or has its dims listed, stays a let.
  std::unordered_set<const ExprNode *> arrays;
  expr::Walker finder;
  for (const Expr &root : roots)
    finder.walk(root.node(), [&](const ExprNode &node) {
      if (node.kind == ExprKind::Let && !node.axes.empty()) arrays.insert(&node);
      for (const Expr &let : node.args)
        if (node.kind == ExprKind::Input) arrays.insert(let.node());
    });
  expr::Exchange parts;
  std::vector<Expr> made_roots;
  for (const Expr &root : roots)
    made_roots.push_back(parts.run(root, [&](const ExprNode &node) {
      Expr made = exchange(node);
      const bool is_name = node.kind == ExprKind::Let && !arrays.contains(&node);
      return !made.node() && is_name && parts.changes(node) ? parts.now(node.args[0]) : made;
    }));
  return made_roots;
}

Expr exchange(const Expr &root, const std::function<Expr(const ExprNode &)> &change) {
  return facts::exchange(std::vector{root}, change).front();
}

Expr substitute(const Expr &root, const std::unordered_map<std::string, Expr> &names) {
  return exchange(root, [&](const ExprNode &node) {
    if (node.kind != ExprKind::Parameter) return Expr();
    const auto found = names.find(node.name);
    return found == names.end() ? Expr() : found->second;
  });
}

} // namespace broadloom::facts
