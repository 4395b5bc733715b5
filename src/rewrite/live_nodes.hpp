// What no output needs is left out of a graph.
#pragma once

#include "spec/spec.hpp"

#include <optional>
#include <vector>

namespace broadloom::rewrite {

// Marks and names of what is left out go, too. [old node]: the new one, none of what is left out.
std::vector<std::optional<expr::NodeId>> keep_live_nodes(spec::TypedSpec &spec);

} // namespace broadloom::rewrite
