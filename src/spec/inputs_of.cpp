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

// The arrays that say positions of an input, and the positions of these, and so on. No window is
// deeper than Window::deepest.
static void need_positions(const TypedSpec &spec, std::size_t input, std::vector<bool> &needed) {
  if (!spec.inputs[input].window) return;
  for (const TypedWindow::Form &form : spec.inputs[input].window->forms)
    for (const TypedWindow::Index &index : form.indices) {
      needed[spec.array_of(index.input)] = true;
      need_positions(spec, index.input, needed);
    }
}

std::vector<bool> positions_needed(const TypedSpec &spec, expr::NodeId value) {
  const InputsOf inputs = inputs_of(spec, {&value, 1});
  std::vector<bool> needed(spec.given_inputs());
  for (std::size_t i = 0; i < spec.inputs.size(); ++i)
    if (inputs.read[i] || inputs.like[i]) need_positions(spec, i, needed);
  return needed;
}

std::vector<bool> arrays_needed(const TypedSpec &spec, expr::NodeId value) {
  const InputsOf inputs = inputs_of(spec, {&value, 1});
  std::vector<bool> needed = positions_needed(spec, value);
  for (std::size_t i = 0; i < spec.inputs.size(); ++i)
    if (inputs.read[i]) needed[spec.array_of(i)] = true;
  return needed;
}

} // namespace broadloom::spec
