// See inputs_of.hpp.
#include "spec/inputs_of.hpp"

namespace broadloom::spec {

InputsOf inputs_of(const TypedSpec &spec, std::span<const expr::NodeId> values) {
  InputsOf inputs{std::vector<bool>(spec.inputs.size()), std::vector<bool>(spec.inputs.size())};
  std::vector<bool> held(spec.graph.size()), named(spec.graph.size());
  for (const expr::NodeId value : values) held[value.index] = true;
  for (std::uint32_t n = std::uint32_t(held.size());
       n-- > 0;) { // arguments come before their users
    if (!held[n] && !named[n]) continue;
    const expr::Node &node = spec.graph[{n}];
    if (node.kind == expr::NodeKind::Input)
      (held[n] ? inputs.read : inputs.like)[node.payload] = true;
    for (const std::uint32_t i : spec.graph.like(node)) inputs.like[i] = true;
    for (const expr::NodeId arg : spec.graph.args({n})) named[arg.index] = true;
    if (!held[n]) continue;
    for (const expr::NodeId arg : spec.graph.operands({n})) held[arg.index] = true;
  }
  return inputs;
}

std::vector<bool> arrays_needed(const TypedSpec &spec, expr::NodeId value) {
  const InputsOf inputs = inputs_of(spec, {&value, 1});
  std::vector<bool> needed(spec.given_inputs());
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    if (inputs.read[i]) needed[spec.array_of(i)] = true;
    if (!spec.inputs[i].window || !(inputs.read[i] || inputs.like[i])) continue;
    for (const TypedWindow::Form &form : spec.inputs[i].window->forms)
      for (const TypedWindow::Index &index : form.indices)
        needed[spec.array_of(index.input)] = true;
  }
  return needed;
}

} // namespace broadloom::spec
