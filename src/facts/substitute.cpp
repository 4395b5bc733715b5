// See substitute.hpp.
#include "facts/substitute.hpp"

#include <unordered_set>

namespace broadloom::facts {

std::vector<Expr> exchange(const std::vector<Expr> &roots,
                           const std::function<Expr(const ExprNode &)> &exchange) {
  std::unordered_map<const ExprNode *, Expr> now; // without an entry: as it was
  const auto current = [&](const Expr &expr) {
    const auto found = now.find(expr.node());
    return found == now.end() ? expr : found->second;
  };
  // What is read at positions, or has its dims listed, stays a let.
  std::unordered_set<const ExprNode *> arrays;
  expr::Walker finder;
  for (const Expr &root : roots)
    finder.walk(root.node(), [&](const ExprNode &node) {
      if (node.kind == ExprKind::Let && !node.axes.empty()) arrays.insert(&node);
      for (const Expr &let : node.args)
        if (node.kind == ExprKind::Input) arrays.insert(let.node());
    });
  expr::Walker walker;
  std::vector<Expr> made_roots;
  for (const Expr &root : roots) {
    walker.walk(root.node(), [&](const ExprNode &node) {
      Expr made = exchange(node);
      std::vector<Expr> args;
      for (const Expr &arg : node.args) args.push_back(current(arg));
      bool changed = false;
      for (std::size_t k = 0; k < args.size(); ++k)
        changed = changed || args[k].node() != node.args[k].node();
      if (!made.node() && changed)
        made = node.kind == ExprKind::Let && !arrays.contains(&node)
                   ? args[0]
                   : with_args(node, std::move(args));
      if (made.node()) now.emplace(&node, made);
    });
    made_roots.push_back(current(root));
  }
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
