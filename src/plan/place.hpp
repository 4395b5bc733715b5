// The second half of `arrange`: items to loops.
#pragma once

#include "plan/pairing.hpp"

namespace broadloom::plan {

// Gives every item its phase and its loops; see place.cpp.
void place_items(const Resolved &resolved, Nests &nests, const Pairs &pairs);

} // namespace broadloom::plan
