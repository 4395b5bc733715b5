// See accumulator_names.hpp.
#include "grad/accumulator_names.hpp"

#include "expr/walk.hpp"
#include "support/free_name.hpp"

namespace broadloom::grad {

std::vector<Expr> AccumulatorNames::own(const std::vector<Expr> &values) {
  bool meets = false;
  expr::Walker walker;
  for (const Expr &value : values)
    walker.walk(value.node(), [&](const ExprNode &node) {
      const auto definition = node.use ? node.use->accumulator.definition() : nullptr;
      if (!definition) return;
      const auto [known, is_new] = known_.try_emplace(definition->name, definition);
      if (is_new || known->second == definition) return;
      meets = true;
      if (renamed_.contains(definition.get())) return;
      AccumulatorDef made = *definition;
      made.name = support::free_name(
          made.name, [&](const std::string &name) { return !known_.contains(name); });
      const auto shared = std::make_shared<const AccumulatorDef>(std::move(made));
      known_.emplace(shared->name, shared);
      renamed_.emplace(definition.get(), Accumulator(shared));
      alive_.push_back(definition);
    });
  if (!meets) return values;
  return renamed(values, {{}, {}, {}, renamed_});
}

std::vector<Expr> values_of(const SpecData &kernel) {
  std::vector<Expr> values = kernel.lets;
  for (const OutputDecl &output : kernel.outputs) {
    values.push_back(output.value);
    values.insert(values.end(), output.mode.use.init.begin(), output.mode.use.init.end());
  }
  return values;
}

} // namespace broadloom::grad
