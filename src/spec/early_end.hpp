// Loops over time that may end before their last step, as all rows behind it repeat its row.
//
//   let u[t < 1000, i] = where(u_done[t - 1], u[t - 1, i], f(u[t - 1, i])) from u0
//   let u_done[t] = u_done[t - 1] || max(abs(u[t, i] - u[t - 1, i]), i) < 1e-6
//
// Where u_done[t] is true, u holds still. So does what a step makes of such lets alone, some steps
// later: d of `let d[t, i] = u[t, i] - u[t - 1, i]` is at rest one step behind u.
#pragma once

#include "spec/recurrence.hpp"

#include <cstdint>
#include <optional>

namespace broadloom::spec {

struct EarlyEnd {
  std::size_t done = 0;  // the let that says so
  std::int64_t more = 0; // steps behind the one at which it does, until all lets are at rest
  std::optional<std::size_t> moves = {}; // one that never is: all steps run
};

// Of the loop that begins with let `first`; none where no let of it says when.
std::optional<EarlyEnd> early_end(LetKernels lets, std::size_t first);

} // namespace broadloom::spec
