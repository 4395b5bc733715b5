// See share.hpp.
#include "grad/share.hpp"

#include "spec/materialise.hpp"
#include "support/text.hpp"

#include <bit>
#include <unordered_map>
#include <unordered_set>

namespace broadloom::grad {
namespace {

std::string axes_text(const ExprNode &node) {
  std::string text;
  for (const AxisRef &axis : node.axes) {
    const auto *label = std::get_if<std::string>(&axis.value());
    text += "\n" + (label != nullptr ? *label : std::to_string(std::get<int>(axis.value())));
  }
  return text;
}

} // namespace

Expr OneOfEach::of(const Expr &expr) {
  const ExprNode &node = *expr.node();
  std::vector<const ExprNode *> args;
  for (const Expr &one : node.args) args.push_back(one.node());
  int what = 0;
  std::int64_t whole = 0;
  std::int64_t real = 0; // the bits: NaNs equal themselves
  std::string text;
  switch (node.kind) {
  case ExprKind::Literal:
    what = int(node.number.kind) + (node.number.too_large ? 8 : 0);
    whole = node.number.integer;
    real = std::bit_cast<std::int64_t>(node.number.real);
    break;
  case ExprKind::Op:
    if (node.op == ops::Op::Neg && node.args[0].node()->kind == ExprKind::Literal)
      return expr; // -2 needs no name
    what = int(node.op);
    break;
  case ExprKind::Cast: what = int(node.dtype); break;
  case ExprKind::Input: text = node.input->name; break;
  case ExprKind::Fold:
  case ExprKind::Scan: {
    const FoldUse &use = *node.use;
    if (use.accumulator.fold() == Fold::User || !use.state.empty()) return expr;
    what = int(use.accumulator.fold()) * 4 + use.exclusive * 2 + use.reverse;
    whole = std::int64_t(node.folded) * 64 + (use.acc ? int(*use.acc) + 1 : 0);
    real = std::bit_cast<std::int64_t>(use.correction.value_or(-1));
    text = support::tuple(use.like) + axes_text(node);
    break;
  }
  case ExprKind::Extent:
  case ExprKind::Iota: // those without of= mean what the expression around them says
    if (node.of.empty()) return expr;
    text = axes_text(node);
    for (const std::string &name : node.of) text += "\n" + name;
    break;
  case ExprKind::Let:
  case ExprKind::Parameter:
  case ExprKind::Call:
  case ExprKind::Join: return expr;
  }
  return known_
      .try_emplace(Key{node.kind, what, whole, real, std::move(text), std::move(args)}, expr)
      .first->second;
}

namespace {

// Expressions with others in place of what they are made of, arguments first.
class Rebuilder {
public:
  // `made(node, args, changed)`: what stands in place of the node, whose arguments have become
  // these; an empty one: itself.
  template <class Made> Expr run(const Expr &root, Made made) {
    alive_.push_back(root);
    const auto take = [&](const Expr &expr) {
      if (now_.contains(expr.node())) return;
      std::vector<Expr> args;
      bool changed = false;
      for (const Expr &arg : expr.node()->args) {
        args.push_back(current(arg));
        changed = changed || args.back().node() != arg.node();
      }
      const Expr now = made(expr, std::move(args), changed);
      alive_.push_back(now);
      now_.emplace(expr.node(), now);
    };
    walker_.walk(root.node(), [&](const ExprNode &node) {
      for (const Expr &arg : node.args)
        if (arg.node()) take(arg);
    });
    take(root);
    return current(root);
  }
  Expr current(const Expr &expr) const {
    const auto found = now_.find(expr.node());
    return found == now_.end() ? expr : found->second;
  }

private:
  expr::Walker walker_;
  std::unordered_map<const ExprNode *, Expr> now_;
  std::vector<Expr> alive_; // whose nodes are keys
};

// Where the value of a let is read, and not the let, the let is: `let e = exp(x)` beside a part
// exp(x).
void read_lets(SpecData &data) {
  std::vector<Expr> lets; // each behind those that its value is made of
  std::unordered_set<const ExprNode *> values;
  expr::Walker walker;
  std::unordered_map<const ExprNode *, Expr> let_of;
  const auto note = [&](const Expr &expr) {
    const ExprNode &node = *expr.node();
    if (node.kind != ExprKind::Let || !node.axes.empty() || node.input || node.args.size() != 1)
      return;
    const ExprKind kind = node.args[0].node()->kind;
    if (kind == ExprKind::Input || kind == ExprKind::Literal || kind == ExprKind::Let) return;
    if (let_of.try_emplace(node.args[0].node(), expr).second) values.insert(node.args[0].node());
  };
  spec::for_each_root(data, [&](const Expr &root) {
    walker.walk(root.node(), [&](const ExprNode &node) {
      for (const Expr &arg : node.args) note(arg);
    });
    note(root);
  });
  spec::for_each_node(data, [&](const ExprNode &node) {
    if (values.contains(&node)) lets.push_back(let_of.at(&node));
  });
  Rebuilder rebuilder;
  std::unordered_map<const ExprNode *, Expr> now; // by value: the let
  const auto made = [&](const Expr &expr, std::vector<Expr> args, bool changed) {
    const ExprNode &node = *expr.node();
    for (std::size_t k = 0; node.kind != ExprKind::Let && k < args.size(); ++k)
      if (const auto let = now.find(node.args[k].node()); let != now.end()) {
        args[k] = let->second;
        changed = true;
      }
    return changed ? with_args(node, std::move(args)) : expr;
  };
  for (const Expr &let : lets) now.emplace(let.node()->args[0].node(), rebuilder.run(let, made));
  spec::change_values(data, [&](const Expr &root) {
    const Expr changed = rebuilder.run(root, made);
    const auto let = now.find(root.node()); // an output that is the value
    return let == now.end() ? changed : let->second;
  });
}

} // namespace

void share(SpecData &data) {
  OneOfEach one;
  Rebuilder rebuilder;
  spec::change_values(data, [&](const Expr &root) {
    return rebuilder.run(root, [&](const Expr &expr, std::vector<Expr> args, bool changed) {
      return one.of(changed ? with_args(*expr.node(), std::move(args)) : expr);
    });
  });
  read_lets(data);
}

} // namespace broadloom::grad
