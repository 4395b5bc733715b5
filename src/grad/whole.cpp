// See whole.hpp.
#include "grad/whole.hpp"

#include "facts/substitute.hpp"
#include "grad/folds.hpp"

namespace broadloom::grad {
namespace {

// What `accumulate` keeps: the axes listed, or those of the inputs of the least rank.
expr::AxisSet kept_axes(facts::Facts &facts, const spec::TypedSpec &typed,
                        const OutputDecl &output) {
  expr::AxisSet kept;
  if (output.has_axes) {
    for (const AxisRef &ref : output.axes)
      kept = kept | expr::AxisSet::of(facts.space().axis(ref, output.where));
    return kept;
  }
  const auto *least = spec::least_rank_input(typed, facts.inputs(output.value));
  return least ? least->axes() : kept;
}

Expr written_out(facts::Facts &facts, const spec::TypedSpec &typed, const OutputDecl &output,
                 std::size_t k) {
  const Place &where = output.value.node()->where;
  switch (output.mode.kind) {
  case ModeKind::plain:
  case ModeKind::broadcast: return output.value;
  case ModeKind::accumulate: {
    const expr::AxisSet kept = kept_axes(facts, typed, output);
    return facts::exchange(output.value, [&](const ExprNode &node) {
      if (node.kind != ExprKind::Input) return Expr();
      const expr::AxisSet extra = typed.inputs[facts.space().index_of(*node.input)].axes() - kept;
      if (extra.empty()) return Expr();
      return make_fold(output.mode.use, {make_input(node.input, node.where)},
                       facts.axis_refs(extra), node.where);
    });
  }
  case ModeKind::reduce: {
    if (!output.mode.use.like.empty()) return make_fold(output.mode.use, {output.value}, {}, where);
    const expr::AxisSet folded =
        facts.axes(output.value) - expr::AxisSet::of(typed.outputs[k].axes);
    if (folded.empty()) return fold_of_one(output.mode.use, output.value, where);
    return make_fold(output.mode.use, {output.value}, facts.axis_refs(folded), where);
  }
  }
  return {};
}

} // namespace

Expr whole_output(facts::Facts &facts, const spec::TypedSpec &typed, OutputDecl output,
                  std::size_t k) {
  const auto bind = [&](Expr &whole) {
    facts.add(whole);
    whole = facts.bound(whole);
    facts.add(whole);
  };
  bind(output.value);
  for (Expr &init : output.mode.use.init) bind(init);
  const Expr value = written_out(facts, typed, output, k);
  facts.add(value);
  return value;
}

} // namespace broadloom::grad
