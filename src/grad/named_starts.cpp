// See named_starts.hpp.
#include "grad/named_starts.hpp"

#include "expr/exchange.hpp"
#include "expr/window.hpp"

#include <map>

namespace broadloom::grad {

std::optional<SpecData> name_starts(const SpecData &data, const spec::Split &split) {
  std::map<std::string, std::size_t> steps; // by loop: its dim of steps
  for (const auto &let : split.lets)
    if (let->recurrence && let->recurrence->start)
      steps[let->data.outputs[0].name] = let->recurrence->dim;
  bool any = false;
  expr::Exchange exchange;
  const auto named = [&](const ExprNode &node) {
    const auto loop = node.kind == ExprKind::Let ? steps.find(node.name) : steps.end();
    if (loop == steps.end() || node.args.size() < 2) return Expr();
    const ExprNode &start = *node.args[1].node();
    const bool lacks_labels =
        start.kind == ExprKind::Input && !start.input->window && !start.input->is_let &&
        !start.input->labelled() && start.input->placement == Placement::ByOrder &&
        !start.input->dims.empty() && start.input->dims.size() + 1 == node.axes.size();
    if (!lacks_labels) return Expr();
    std::vector<AffineForm> forms;
    for (std::size_t d = 0; d < node.axes.size(); ++d) {
      const std::string *label = std::get_if<std::string>(&node.axes[d].value());
      if (label == nullptr) return Expr();
      if (d != loop->second) forms.push_back({0, {{*label, 1}}, {}});
    }
    any = true;
    const Expr value = exchange.has(node.args[0].node()) ? exchange(node.args[0]) : node.args[0];
    return with_args(node, {value, make_window(node.args[1], std::move(forms), start.where)});
  };
  SpecData made = data;
  spec::change_values(made, [&](const Expr &expr) { return exchange.run(expr, named); });
  if (!any) return std::nullopt;
  return made;
}

} // namespace broadloom::grad
