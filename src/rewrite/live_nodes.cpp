// See live_nodes.hpp.
#include "rewrite/live_nodes.hpp"

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

void drop_dead_names(spec::TypedSpec &spec, const std::vector<bool> &live) {
  std::erase_if(spec.marks, [&](const spec::Mark &mark) { return !live[mark.value.index]; });
  std::erase_if(spec.lets, [&](const spec::NamedValue &let) { return !live[let.value.index]; });
}

std::vector<std::optional<NodeId>> keep_live_nodes(spec::TypedSpec &spec) {
  const expr::Graph &all = spec.graph;
  std::vector<bool> live(all.size());
  for (const spec::TypedOutput &output : spec.outputs) live[output.value.index] = true;
  for (const spec::TypedOutput &output : spec.outputs)
    if (output.add) live[output.addend.index] = true;
  for (std::size_t i = all.size(); i-- > 0;)
    if (live[i])
      for (NodeId arg : all.args(NodeId{std::uint32_t(i)})) live[arg.index] = true;

  expr::Graph kept = expr::Graph::with_recipes_of(all);
  std::vector<std::optional<NodeId>> now(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!live[i]) continue;
    NodeId old{std::uint32_t(i)};
    std::vector<NodeId> args;
    for (NodeId arg : all.args(old)) args.push_back(*now[arg.index]);
    now[i] = kept.add(all[old], args, all.where(old));
  }
  for (spec::TypedOutput &output : spec.outputs) {
    output.value = *now[output.value.index];
    output.addend = output.add ? *now[output.addend.index] : output.value;
  }
  drop_dead_names(spec, live);
  for (spec::Mark &mark : spec.marks) mark.value = *now[mark.value.index];
  for (spec::NamedValue &let : spec.lets) let.value = *now[let.value.index];
  spec.graph = std::move(kept);
  return now;
}

} // namespace broadloom::rewrite
