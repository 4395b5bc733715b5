// The second half of `arrange`: items to loops.
#pragma once

#include "plan/pairing.hpp"

namespace broadloom::plan {

// Gives every item its phase and its loops; see place.cpp. Where they are `alone`, only the groups
// of one fold share a phase.
void place_items(const Resolved &resolved, Nests &nests, const Pairs &pairs, bool alone);

} // namespace broadloom::plan
