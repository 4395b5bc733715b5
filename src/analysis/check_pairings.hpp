// `fuse` and `separate`: are the names known, and can all of them hold at once?
#pragma once

#include "spec/spec.hpp"

namespace broadloom::analysis {

// Those of statements, then those of the schedule.
std::vector<Pairing> all_pairings(const SpecData &data);

// Throws SpecError E0003 for what is neither a let nor an output, E0016 where what is fused, by one
// statement or by several, is also separated.
void check_pairings(const SpecData &data);

} // namespace broadloom::analysis
