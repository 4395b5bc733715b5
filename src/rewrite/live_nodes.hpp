// What no output needs is left out of a graph.
#pragma once

#include "spec/spec.hpp"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace broadloom::rewrite {

// Marks and names of what is left out go, too. Where instead(id) gives an input, that is read in
// place of the node.
void keep_live_nodes(spec::TypedSpec &spec,
                     const std::function<std::optional<std::uint32_t>(expr::NodeId)> &instead = {});

// Values of outputs, marks and named lets, where nodes have become others: [old node].
void move_values(spec::TypedSpec &spec, std::span<const expr::NodeId> now);

// Exchanges the nodes one after the other: `made(id, args)` is what one becomes, over what its
// arguments have become.
template <class Made> void rebuild(spec::TypedSpec &spec, const expr::Graph &old, Made made) {
  std::vector<expr::NodeId> now(old.size());
  for (const expr::NodeId id : old.ids()) now[id.index] = made(id, old.args_now(id, now));
  move_values(spec, now);
}

} // namespace broadloom::rewrite
