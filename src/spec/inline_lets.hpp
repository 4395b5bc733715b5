// Lets that are arrays and are computed where they are read all the same, as `inline h` of a
// schedule asks.
//
//   let h = exp(x) * w                       out y = exp(x[i + 1]) * w[i + 1] - exp(x[i]) * w[i]
//   out y = h[i + 1] - h[i]
//
// No bit may hang on it. So it is done of lets whose every element is made of elements at places
// that its own place says, where no fold or scan that rounds reads them, as its tree would go by
// how other arrays lie.
#pragma once

#include "spec/materialise.hpp"

#include <functional>
#include <optional>
#include <string>

namespace broadloom::spec {

// Why a let that is an array has to be one; empty where nothing of the kernel says so. `typed` is
// what it was split into.
std::string why_array(const TypedSpec &typed, const std::string &let);

// The kernel in which those lets are no arrays of which the schedule asks that and for which it can
// be; none where there is none such. `typed` is the kernel as it is written, and `analyse` types
// one whose lets are kernels of their own again.
std::optional<SpecData>
with_inlined_lets(const SpecData &data, const TypedSpec &typed,
                  const std::function<TypedSpec(const SpecData &)> &analyse);

} // namespace broadloom::spec
