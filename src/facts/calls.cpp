// See calls.hpp.
#include "facts/calls.hpp"

#include "facts/substitute.hpp"

namespace broadloom::facts {

const FunctionDecl::Derivative *Calls::clause(const FunctionDecl &function, std::size_t arg) {
  for (const FunctionDecl::Derivative &derivative : function.derivatives)
    if (derivative.param == arg) return &derivative;
  return nullptr;
}

Expr Calls::by_clause(const ExprNode &call, const FunctionDecl::Derivative &clause, const Expr &g) {
  used_ = true;
  std::unordered_map<std::string, Expr> names{{cotangent_name, g}};
  for (std::size_t k = 0; k < call.args.size(); ++k)
    names[call.function->params[k].node()->name] = call.args[k];
  return substitute(clause.value, names);
}

bool Calls::is_zero(const FunctionDecl::Derivative &clause) {
  const ExprNode &node = *clause.value.node();
  if (node.kind != ExprKind::Literal) return false;
  const bool is_real =
      node.number.kind == Number::Kind::Float || node.number.kind == Number::Kind::Imaginary;
  return is_real ? node.number.real == 0 : node.number.integer == 0 && !node.number.too_large;
}

bool Calls::is_elementwise(const Expr &defined) {
  const auto [it, fresh] = elementwise_.emplace(defined.node(), true);
  if (!fresh) return it->second;
  spec::Expander all(spec::Calls::All, "a definition", nullptr);
  expr::Walker().walk(all.expand(defined).node(), [&](const ExprNode &node) {
    const bool folds = node.kind == ExprKind::Fold || node.kind == ExprKind::Scan;
    const bool asks = node.kind == ExprKind::Extent || node.kind == ExprKind::Iota;
    if (folds || asks) it->second = false;
  });
  return it->second;
}

Expr Calls::by_body(const Expr &call) {
  const auto found = bodies_.find(call.node());
  if (found != bodies_.end()) return found->second;
  const ExprNode &node = *call.node();
  kept_.push_back(call);
  bool needed = false;
  std::vector<Expr> args;
  for (std::size_t k = 0; k < node.args.size(); ++k) {
    const bool known = clause(*node.function, k) != nullptr;
    needed = needed || !known;
    args.push_back(known ? constant(node.args[k]) : node.args[k]);
  }
  if (!needed) return bodies_[&node] = Expr();
  auto &bare = bare_[node.function.get()];
  if (!bare) {
    auto made = std::make_shared<FunctionDecl>(*node.function);
    made->derivatives.clear();
    bare = std::move(made);
  }
  return bodies_[&node] = expander_.expand(make_call(bare, std::move(args), node.where));
}

// The same value in a node of its own, one for each argument so that equal calls stay equal. A let
// would be defined a second time.
Expr Calls::constant(const Expr &arg) {
  if (is_constant(arg.node())) return arg;
  Expr &copy = copies_[arg.node()];
  if (copy.node()) return copy;
  Expr value = arg;
  while (value.node()->kind == ExprKind::Let) value = value.node()->args[0];
  copy = with_args(*value.node(), value.node()->args);
  constants_.emplace(copy.node(), arg);
  return copy;
}

Expr Calls::restored(const Expr &expr) const {
  if (constants_.empty()) return expr;
  return exchange(expr, [&](const ExprNode &node) {
    const auto found = constants_.find(&node);
    return found == constants_.end() ? Expr() : found->second;
  });
}

} // namespace broadloom::facts
