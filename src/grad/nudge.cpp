// See nudge.hpp.
#include "grad/nudge.hpp"

#include "grad/facts.hpp"
#include "grad/widen.hpp"
#include "reference/reference.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace broadloom::grad {
namespace {

class Nudger {
public:
  Nudger(const SpecData &data, std::uint64_t seed) : facts_(data, {}), engine_(seed) {}

  SpecData run(const SpecData &data) {
    SpecData made = data;
    for (const Expr &let : made.lets) declare_inputs(made, let);
    for (const OutputDecl &output : made.outputs) declare_inputs(made, output.value);
    made.lets.clear();
    made.pairings.clear();
    for (OutputDecl &output : made.outputs) {
      output.value = aside(output.value);
      for (Expr &init : output.mode.use.init) init = aside(init);
    }
    return made;
  }

private:
  // What only a let reads stays an input.
  static void declare_inputs(SpecData &made, const Expr &root) {
    expr::Walker().walk(root.node(), [&](const ExprNode &node) {
      if (node.kind != ExprKind::Input) return;
      const auto is_it = [&](const auto &decl) { return decl->name == node.input->name; };
      if (std::none_of(made.inputs.begin(), made.inputs.end(), is_it))
        made.inputs.push_back(node.input);
    });
  }

  // A part is asked about on its own, so the indices in it must say of which inputs they are.
  Expr aside(const Expr &written) {
    if (!written.node()) return written;
    facts_.add(written);
    const Expr root = facts_.bound(written);
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
    if (is_moved(*expr.node()) && facts_.is_continuous(expr)) {
      const Terms t(expr.node()->where);
      made = t.add(t.mul(number(1), made), number(0));
    }
    return moved_[expr.node()] = made;
  }

  static bool is_moved(const ExprNode &node) {
    switch (node.kind) {
    case ExprKind::Input: // a mode may stand between it and the rest
    case ExprKind::Op:
    case ExprKind::Fold:
    case ExprKind::Scan:
    case ExprKind::Call: return true;
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

bool is_finite_throughout(const SpecData &data, std::span<const AnyView> inputs) {
  spec::TypedSpec typed = spec::analyse(data);
  std::vector<bool> needed(typed.graph.size());
  for (const spec::TypedOutput &output : typed.outputs) needed[output.value.index] = true;
  typed.outputs.clear();
  for (auto n = std::uint32_t(typed.graph.size()); n-- > 0;) {
    const expr::NodeId id{n};
    if (!needed[n]) continue;
    for (const expr::NodeId arg : typed.graph.operands(id)) needed[arg.index] = true;
    const DType dtype = typed.graph[id].dtype;
    if (!is_float(dtype) && !is_complex(dtype)) continue;
    spec::TypedOutput output;
    output.dtype = wide(dtype);
    output.value = id;
    for (int axis = 0; axis < int(typed.axes.size()); ++axis)
      if (typed.graph[id].axes.has(axis)) output.axes.push_back(axis);
    typed.outputs.push_back(std::move(output));
  }
  for (const Array &array : reference::evaluate(typed, inputs)) {
    const Array dense = array.copy(); // f64 or c128
    const auto *parts = static_cast<const double *>(dense.raw());
    const std::int64_t count = dense.size() * (is_complex(dense.dtype()) ? 2 : 1);
    if (!std::all_of(parts, parts + count, [](double x) { return std::isfinite(x); })) return false;
  }
  return true;
}

} // namespace broadloom::grad
