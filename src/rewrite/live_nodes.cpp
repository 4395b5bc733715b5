// See live_nodes.hpp.
#include "rewrite/live_nodes.hpp"

#include <utility>

namespace broadloom::rewrite {

using expr::NodeId;

void move_values(spec::TypedSpec &spec, std::span<const NodeId> now) {
  for (spec::TypedOutput &output : spec.outputs) {
    output.value = now[output.value.index];
    output.addend = now[output.addend.index];
  }
  for (spec::Mark &mark : spec.marks) mark.value = now[mark.value.index];
  for (spec::NamedValue &let : spec.lets) let.value = now[let.value.index];
}

void keep_live_nodes(spec::TypedSpec &spec,
                     const std::function<std::optional<std::uint32_t>(NodeId)> &instead) {
  const expr::Graph all = std::move(spec.graph);
  std::vector<bool> live(all.size());
  for (const spec::TypedOutput &output : spec.outputs) live[output.value.index] = true;
  for (const spec::TypedOutput &output : spec.outputs)
    if (output.add) live[output.addend.index] = true;
  std::vector<std::optional<std::uint32_t>> inputs(all.size());
  for (std::uint32_t n = std::uint32_t(all.size()); n-- > 0;) {
    if (!live[n]) continue;
    if (instead) inputs[n] = instead({n});
    if (!inputs[n])
      for (const NodeId arg : all.args({n})) live[arg.index] = true;
  }

  spec.graph = expr::Graph::with_recipes_of(all);
  std::vector<NodeId> now(all.size());
  for (const NodeId id : all.ids()) {
    if (!live[id.index]) continue;
    const expr::Node &old = all[id];
    const auto &input = inputs[id.index];
    now[id.index] = input ? spec.graph.add({.kind = expr::NodeKind::Input,
                                            .dtype = old.dtype,
                                            .axes = old.axes,
                                            .payload = *input},
                                           {}, all.where(id))
                          : spec.graph.add(old, all.args_now(id, now), all.where(id));
  }
  std::erase_if(spec.marks, [&](const spec::Mark &mark) { return !live[mark.value.index]; });
  std::erase_if(spec.lets, [&](const spec::NamedValue &let) { return !live[let.value.index]; });
  for (spec::TypedOutput &output : spec.outputs)
    if (!output.add) output.addend = output.value;
  move_values(spec, now);
  for (const auto &[fold, axes] : std::exchange(spec.apart, {}))
    if (live[fold.index]) spec.apart.emplace(now[fold.index], axes);
}

} // namespace broadloom::rewrite
