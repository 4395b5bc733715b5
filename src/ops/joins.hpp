// What a user's combine does with blocks, tried on a few elements: with one that has none, and held
// against the steps.
//
//   m = -inf, s = 0; combine s = s * exp(m - maximum(m, m_other)) + ..
//       the start is no identity: two of them give s = nan
//   s = 1; step s = s + x; combine s = s + s_other
//       joins wrongly: each block has the 1
//
// Blocks without an element arise where there are fewer elements than ways. So where the start is
// no identity, the recipe counts its steps, and a block that has taken none leaves the other one as
// it is: every engine runs recipes, and none knows of it.
//
// Elements are positive, and grow, as those of iota do, or fall: an accumulator may be meant for
// one of these alone, and is wrong where none is right. Nothing is said of states that are no
// number.
#pragma once

#include "ops/recipe.hpp"

#include <optional>
#include <vector>

namespace broadloom::ops {

// A state that a join with a block without elements does not leave as it is.
struct Unlike {
  std::size_t state = 0;
  bool earlier = false, later = false; // which of the two blocks have elements
  Scalar alone, joined;
};
std::optional<Unlike> start_is_no_identity(const Recipe &recipe);

// The recipe with one state more, the number of steps taken.
Recipe counting(const Recipe &recipe);

// Elements whose result is another one by the steps than by the joins of blocks of them.
struct WrongJoin {
  std::vector<std::vector<Scalar>> elements; // [element][argument]
  std::vector<std::size_t> blocks;           // how many elements each has
  std::optional<std::size_t> state; // the first that differs; none where only the result does
  Scalar stepped, joined;           // of that state, or of the result
};
// `result` gives one value, of type `type`, of the states. The recipe does not count.
std::optional<WrongJoin> joins_wrongly(const Recipe &recipe, const Code &result, DType type);

} // namespace broadloom::ops
