// What a call must keep to, whatever it computes.
#pragma once

#include "calls/call.hpp"

namespace broadloom::calls {

// Throws SpecError E0801 with the step, and its line in the text of print, where a step
//
// - names an array that there is not, or another number of dims than it has,
// - reads or writes outside of an array,
// - reads an element that no step before it has written, or that another row has taken the place
//   of,
// - writes an element that a part of the same nest has written already,
//
// and where an output has an element that no step writes. Positions that elements say are not
// looked at. It goes through the elements of all arrays, so the time is that of the call itself
// without its arithmetic: it is for small ones.
void verify(const Call &call);

} // namespace broadloom::calls
