// Steps of a loop over time that change nothing, as an array that is there before the loop says of
// them. So it is with what flows back through, or moves along, a loop that ended early:
//
//   let d_u[t < 1000, i] = where(iota(t) == 999, d_y, 0) + d_u_1[t + 1, i]
//   let d_u_1[t, i] = where(u_done_1[t], d_u[t, i], 0) + where(u_done_1[t], 0, ..)
//
// Where u_done_1[t] is true, a step brings the rows of the step before, as 0 is added to them. The
// first ones may still make 0 of -0, or wait for others of the loop.
#pragma once

#include "spec/recurrence.hpp"

#include <cstdint>
#include <optional>

namespace broadloom::spec {

struct AtRest {
  std::size_t let = 0;     // a member that reads the array
  std::uint32_t input = 0; // what its kernel is given: the array, with one dim
  std::int64_t shift = 0;  // its element at t + shift; where there is none, the step changes rows
  std::int64_t after =
      0; // behind so many steps in a row at which it is true, further ones change nothing
};

// Of the loop that begins with let `first`; none where nothing is known to be at rest.
std::optional<AtRest> at_rest(LetKernels lets, std::size_t first);

} // namespace broadloom::spec
