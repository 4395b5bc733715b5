// Expressions for shapes that the planner has ways of its own for: what users write, so that these
// ways are taken.
#pragma once

#include "large_shapes.hpp"
#include "random_expression.hpp"

namespace broadloom::differential {

class LargeTerms {
public:
  LargeTerms(Random &random, const Scope &scope, const LargeShape &shape)
      : random_(random), scope_(scope), shape_(shape) {}

  // sum(x * y, k), or the product before it is folded.
  Term product();
  // sum(f(x, y), i) and sum(f(x, y), j), in one output or in two: no operand has both axes, and f
  // is worth sharing.
  Term pairs(std::size_t output);
  // Of two inputs, without a fold: what may run in tiles.
  Term map();
  // A fold along one axis, alone or beside what it folds; softmax; a scan; a map.
  Term usual();

private:
  Random &random_;
  const Scope &scope_;
  const LargeShape &shape_;
};

} // namespace broadloom::differential
