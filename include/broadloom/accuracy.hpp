// How closely functions such as exp and tanh are computed in f32, f16 and bf16; f64 and complex numbers have
// one form, that of high.
//
//   high    within 1 ulp (unit in the last place) of the exact result, for every argument
//   exact   the f32 next to the exact result: 0.5 ulp, correctly rounded
//   fast    within 4 ulp, where that saves time; special values as in the others
#pragma once

#include <cstdint>

namespace broadloom {

enum class Accuracy : std::uint8_t { high, exact, fast };

} // namespace broadloom
