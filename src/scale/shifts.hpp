// Inside the stage that moves scales: constants that are added.
//
//   (z - a) + b                    z + (b - a)
//       joined: one addition less
//   sum((z + q) * w, k)            sum(z * w, k) + sum(q * w, k)
//       taken out of a contraction: none inside it
//
// So the shift of a batch normalisation becomes part of the bias behind it, or of the one of the
// layer after it.
#pragma once

#include "scale/rebuild.hpp"

#include <broadloom/decision.hpp>

namespace broadloom::scale {

// Joins and takes out what can be, once for each value. Empty where there is nothing to do.
std::optional<SpecData> move_shifts(const SpecData &data, const Values &values,
                                    std::vector<Decision> &notes);

} // namespace broadloom::scale
