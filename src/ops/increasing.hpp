// Accumulators that meet positions in order know more of them than their text does.
//
//   argmax:  i < 0 || x > v || (x == v || ..) && at < i     `at` grows from step to step, and i is
//            i < 0 || x > v || ..                           -1 or an earlier `at`: never at < i
#pragma once

#include "ops/recipe.hpp"

namespace broadloom::ops {

// The recipe where argument `arg` is not negative and grows from step to step: the states are the
// same, to the bit. Blocks are joined as before.
Recipe with_increasing(const Recipe &recipe, std::size_t arg);

} // namespace broadloom::ops
