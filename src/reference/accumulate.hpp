// Folds and scans: the states of an accumulator step through their elements in C order.
#pragma once

#include "ops/recipe.hpp"
#include "reference/loops.hpp"

namespace broadloom::reference {

struct Accumulation {
  const ops::Recipe &recipe;
  std::uint32_t state = 0; // the one that is the result
  Accuracy accuracy = Accuracy::high;
  bool scan = false;      // the result has an element for each step: the state after it, or
  bool exclusive = false; // before it
  bool reverse = false;   // a scan from the end
  Operand out = {};
  std::vector<Operand> args = {};   // what is accumulated
  std::vector<Operand> starts = {}; // of each state; none: those of the recipe
  Extents kept = {};                // each position has states of its own
  Extents folded = {};              // the elements that these states step through
};

// Floats of plain sums and products are taken in extended precision, sums with compensation, so
// that they are as exact as can be; all else is done step by step.
void run_accumulation(const Accumulation &what, const Workers &workers);

} // namespace broadloom::reference
