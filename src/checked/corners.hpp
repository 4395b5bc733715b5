// Inside the gradient check: which elements of the outputs are made by an operation that has a
// corner, a jump or an edge of its domain here, though they themselves may be smooth.
//
//   fmax(min(x, i), x)      is x, where x is never below its least element; but with two least
//                           elements min(x, i) has a corner, and what flows back through it is
//                           shared
//   asin(x / x)             is pi/2 for every x; but asin has an infinite slope at 1, and what
//                           flows back is inf * 0
//
// A derivative is made of those of operations, and where one of these has none, the result says
// nothing. So every value between the input and the outputs is moved on its own, by another share
// of itself: no two stay equal by construction, and none stays 0 or 1. The result of an operation
// then moves smoothly only where it is smooth in all its arguments.
#pragma once

#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <atomic>
#include <span>
#include <vector>

namespace broadloom::checked {

struct Corners {
  std::vector<std::vector<bool>> behind; // [output][element in C order]: behind a corner
  // A value is so large or so near 0 that slopes of a few operations may leave the range of
  // numbers.
  bool may_overflow = false;
};

// On the ways from the input `moved` to the outputs. Of `where` only the branch that is taken
// counts. The floats of `spec` are f64. Throws CancelledError as a call does.
Corners find_corners(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                     std::size_t moved, const std::atomic<bool> *cancel);

} // namespace broadloom::checked
