// Inside the gradient check: which elements of the outputs are made of a value that has a corner, a jump or an edge of its
// domain here, though they themselves may be smooth.
//
//   fmax(min(x, i), x)      is x, where x is never below its least element; but with two least elements min(x, i) has a
//                           corner, and what flows back through it is shared
#pragma once

#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <atomic>
#include <functional>
#include <vector>

namespace broadloom::jit {

// [output][element], for inputs that move with t, looked at around t = 0. Of `where` only the branch that is taken counts.
// Nothing where all values together are too many to look at.
std::vector<std::vector<bool>>
behind_corners(const spec::TypedSpec &spec, const std::function<std::vector<Array>(double)> &inputs,
               const std::atomic<bool> *cancel);

} // namespace broadloom::jit
