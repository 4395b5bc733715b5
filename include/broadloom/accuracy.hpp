// How close the results of functions such as exp and tanh are to the exact ones. A kernel has one
// accuracy for all of its functions: LoopSpec::accuracy, or `set accuracy =` in a text.
//
//   high    at most 1 ulp off, for every argument; next to zeros of lgamma and digamma that is 1
//           ulp of 1
//   exact   correctly rounded: the floating-point number next to the exact result; docs/math.md
//           counts the few arguments for which it is the one beyond
//   fast    at most 4 ulp off where that saves time, else as `high`; infinities, NaN and signs of
//           zeros as with `high`
//
// An ulp (unit in the last place) is the distance of two neighbouring floating-point numbers at the
// exact result. The table is that of f32. Functions of f16 and bf16 are computed in f32 and rounded
// once more. Those of f64 and of complex numbers are as with `high`, whatever is asked for.
#pragma once

#include <cstdint>

namespace broadloom {

enum class Accuracy : std::uint8_t { high, exact, fast };

} // namespace broadloom
