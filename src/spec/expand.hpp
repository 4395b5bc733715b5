// Calls of user functions written out: the stage between SpecData as the user said it and its analysis.
//
//   def twice(a) = a + a
//   out z = twice(x * y)          becomes   out z = t + t   with one node t = x * y
//
// What is shared stays shared: a body is written out once for each list of arguments, so that functions of
// functions grow only as large as the value that they describe.
#pragma once

#include "spec/spec.hpp"

namespace broadloom::spec {

// The same kernel without Call nodes, its inputs declared in the order in which the calls name them.
// Throws SpecError E0013 where that is more than 2^20 operations, E0003 for a parameter outside of a
// function. Iterative.
SpecData expand_calls(const SpecData &data);

} // namespace broadloom::spec
