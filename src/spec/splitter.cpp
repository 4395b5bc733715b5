// See splitter.hpp and, for split_lets, materialise.hpp.
#include "spec/splitter.hpp"

namespace broadloom::spec {

bool Splitter::names_its_dims(const ExprNode &let) const {
  const auto window_called = [&](const std::string &name) -> const InputDecl * {
    for (const auto &input : data_.inputs)
      if (input->window && input->name == name) return input.get();
    return nullptr;
  };
  const auto has_own_name = [&](const InputDecl &of) { // let s[x_0, x_1]
    return let.axes[0].value() == AxisRef(of.name + "_0").value();
  };
  if (let.axes.empty() || !std::ranges::all_of(let.axes, [](const AxisRef &axis) {
        return std::holds_alternative<std::string>(axis.value());
      }))
    return false;
  std::vector<const ExprNode *> open{let.args[0].node()};
  while (!open.empty()) {
    const ExprNode &node = *open.back();
    open.pop_back();
    if (node.kind == ExprKind::Cast || (node.kind == ExprKind::Op && node.op == ops::Op::Add)) {
      for (const Expr &arg : node.args) open.push_back(arg.node());
      continue;
    }
    const InputDecl *window = node.kind == ExprKind::Fold && node.use->like.size() == 1
                                  ? window_called(node.use->like[0])
                                  : nullptr;
    if (window == nullptr || window->window->of->labelled() || has_own_name(*window->window->of))
      return false;
  }
  return true;
}

void Splitter::check_dims(const ExprNode &let, const TypedSpec &typed) const {
  const std::size_t rank = typed.outputs[0].axes.size();
  if (rank == let.axes.size() || !names_its_dims(let)) return;
  support::fail(
      "E0106",
      "let '" + let.name + "' lists " + support::count(std::int64_t(let.axes.size()), "dim") +
          ", and its value has " + std::to_string(rank),
      support::with_text(let.where, data_.source.get()), "name each dim of what the sum is like");
}

std::optional<Split> split_lets(const SpecData &data,
                                const std::function<TypedSpec(const SpecData &)> &analyse) {
  return Splitter(data, analyse, false).run();
}

std::optional<Split> split_scheduled(const SpecData &data,
                                     const std::function<TypedSpec(const SpecData &)> &analyse) {
  return Splitter(data, analyse, true).run();
}

} // namespace broadloom::spec
