// The scales of a whole kernel: those of each let that is an array, those of the rest, and those
// that pass from one to the other.
#pragma once

#include "scale/fold.hpp"
#include "spec/materialise.hpp"

namespace broadloom::analysis {

// `data` has no calls (expand_calls), and `split` is what split_lets made of it. The kernel itself,
// where nothing moves. Throws what `analyse` throws.
SpecData fold_scales(const SpecData &data, std::optional<spec::Split> split,
                     std::vector<Decision> &notes, const scale::KnownParameters &parameters = {});

// The public fold_scales, where the values of some parameters are known.
LoopSpec fold_scales(const LoopSpec &spec, std::vector<Decision> *why,
                     const scale::KnownParameters &parameters);

} // namespace broadloom::analysis
