// The kernel of a part of a call: positions and extents are numbers that it is given, and what is known to hold is not asked.
#pragma once

#include "kernel/by_parts.hpp"

#include <set>

namespace broadloom::kernel {

bool is_zero(const expr::Graph &graph, expr::NodeId id); // a literal
bool is_op(const expr::Graph &graph, expr::NodeId id, ops::Op op);
bool is_sum(const expr::Graph &graph, expr::NodeId fold);

struct KnownConditions { // nodes
  std::set<expr::NodeId> hold, fail;
};

// `axes` are those along which a part is not the whole. None where what is left of the masks does not have the axes that they gave, or
// where two folds become one that are different in the whole. Linear, iterative.
std::optional<spec::TypedSpec> part_spec(const spec::TypedSpec &spec, const ByParts &parts,
                                         expr::AxisSet axes, const KnownConditions &known);

} // namespace broadloom::kernel
