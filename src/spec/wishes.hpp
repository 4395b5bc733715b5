// What the schedule of a kernel says, held against its names and axes.
#pragma once

#include "spec/spec.hpp"

namespace broadloom::spec {

class Space;

// Whether keep, recompute, inline and at name lets, stream and cached outputs, and no two clauses
// contradict each other. Throws SpecError E0017, E0018, E0019. Axes, which only the iteration space
// knows, are looked at by resolve_wishes.
void check_schedule(const SpecData &data);

// `rest` has the schedule of a kernel with the lets `before`: what that says of lets that are no
// more is dropped.
void keep_wishes(SpecData &rest, const std::vector<Expr> &before);

// Throws ShapeError E0104 for an axis that is not there, SpecError E0018 where two clauses speak of
// one axis.
Wishes resolve_wishes(const SpecData &data, const Space &space);

} // namespace broadloom::spec
