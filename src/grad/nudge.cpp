// See nudge.hpp.
#include "grad/nudge.hpp"

#include "grad/facts.hpp"

#include <random>

namespace broadloom::grad {
namespace {

class Nudger {
public:
  Nudger(const SpecData &data, std::uint64_t seed) : facts_(data, {}), engine_(seed) {}

  SpecData run(const SpecData &data) {
    SpecData made = data;
    for (Expr &let : made.lets) let = aside(let);
    for (OutputDecl &output : made.outputs) {
      output.value = aside(output.value);
      for (Expr &init : output.mode.use.init) init = aside(init);
    }
    return made;
  }

private:
  Expr aside(const Expr &root) {
    if (!root.node()) return root;
    facts_.add(root);
    walker_.walk(root.node(), [&](const ExprNode &node) {
      std::vector<Expr> args;
      bool changed = false;
      for (const Expr &arg : node.args) {
        args.push_back(moved(arg));
        changed = changed || args.back().node() != arg.node();
      }
      if (changed) rebuilt_.emplace(&node, with_args(node, std::move(args)));
    });
    return moved(root);
  }

  // A value whose arguments have been moved.
  Expr moved(const Expr &expr) {
    const auto found = moved_.find(expr.node());
    if (found != moved_.end()) return found->second;
    const auto rebuilt = rebuilt_.find(expr.node());
    Expr made = rebuilt == rebuilt_.end() ? expr : rebuilt->second;
    if (is_operation(*expr.node()) && facts_.is_continuous(expr)) {
      const Terms t(expr.node()->where);
      made = t.add(t.mul(number(1), made), number(0));
    }
    return moved_[expr.node()] = made;
  }

  static bool is_operation(const ExprNode &node) {
    switch (node.kind) {
    case ExprKind::Op:
    case ExprKind::Fold:
    case ExprKind::Scan:
    case ExprKind::Call: return true;
    case ExprKind::Input:
    case ExprKind::Literal:
    case ExprKind::Cast:
    case ExprKind::Extent:
    case ExprKind::Iota:
    case ExprKind::Let:
    case ExprKind::Parameter: return false;
    }
    return false;
  }

  // Between 2^-9 and 2^-8 beside it.
  Expr number(double beside) {
    const double size = 0x1p-9 + double(engine_() >> 11) * 0x1p-62;
    Number number;
    number.kind = Number::Kind::Float;
    number.real = beside + (engine_() >> 63 ? size : -size);
    return make_literal(number, {});
  }

  Facts facts_;
  std::mt19937_64 engine_;
  expr::Walker walker_;
  std::unordered_map<const ExprNode *, Expr> rebuilt_, moved_;
};

} // namespace

SpecData nudged(const SpecData &data, std::uint64_t seed) {
  const SpecData plain = spec::expand_calls(data, spec::Calls::WithoutDerivatives);
  return Nudger(plain, seed).run(plain);
}

} // namespace broadloom::grad
