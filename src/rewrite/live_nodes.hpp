// What no output needs is left out of a graph.
#pragma once

#include "spec/spec.hpp"

#include <optional>
#include <span>
#include <vector>

namespace broadloom::rewrite {

// Marks and names of what is left out go, too. [old node]: the new one, none of what is left out.
std::vector<std::optional<expr::NodeId>> keep_live_nodes(spec::TypedSpec &spec);

// Values of outputs, marks and named lets, where nodes have become others: [old node].
void move_values(spec::TypedSpec &spec, std::span<const expr::NodeId> now);
void drop_dead_names(spec::TypedSpec &spec, const std::vector<bool> &live); // marks too

} // namespace broadloom::rewrite
