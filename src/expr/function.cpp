// See function.hpp.
#include "expr/function.hpp"

#include "expr/walk.hpp"

#include <unordered_set>

namespace broadloom {
namespace {

using Functions = std::vector<std::shared_ptr<const FunctionDecl>>;

Functions called_in(const std::vector<Expr> &roots) {
  Functions found;
  expr::Walker walker;
  for (const Expr &root : roots)
    walker.walk(root.node(), [&](const ExprNode &node) {
      if (node.kind == ExprKind::Call) found.push_back(node.function);
    });
  return found;
}

} // namespace

std::vector<std::shared_ptr<const FunctionDecl>> functions_called(const std::vector<Expr> &roots) {
  Functions order, work = called_in(roots);
  std::unordered_set<const FunctionDecl *> entered, listed;
  while (!work.empty()) {
    const std::shared_ptr<const FunctionDecl> function = work.back();
    if (!entered.insert(function.get()).second) { // what it calls is listed
      work.pop_back();
      if (listed.insert(function.get()).second) order.push_back(function);
      continue;
    }
    std::vector<Expr> parts{function->body};
    for (const FunctionDecl::Derivative &derivative : function->derivatives)
      parts.push_back(derivative.value);
    for (auto &callee : called_in(parts))
      if (entered.count(callee.get()) == 0) work.push_back(std::move(callee));
  }
  return order;
}

} // namespace broadloom
