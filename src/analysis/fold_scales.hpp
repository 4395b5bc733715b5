// The scales of a whole kernel: those of each let that is an array, those of the rest, and those
// that pass from one to the other.
#pragma once

#include "scale/fold.hpp"

namespace broadloom::analysis {

// The public fold_scales, where the values of some parameters are known.
LoopSpec fold_scales(const LoopSpec &spec, std::vector<Decision> *why,
                     const scale::KnownParameters &parameters);

} // namespace broadloom::analysis
