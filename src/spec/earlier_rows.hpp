// Lets that read a loop over time from some steps before its first one on: what gradients make of
// `u[t - 1, i]` for all t at once.
//
//   let u[t, i] = .. u[t - 1, i] .. from u0
//   let u_1[t, i] = where(iota(t, of=u[t, i]) < 1, u0[i], pad(u, 0: (1, 0))[t, i])
//       u0, u[0], u[1], ..
//
// The array of u lies behind the rows that it begins with, so these are rows that are there.
#pragma once

#include "spec/recurrence.hpp"

#include <cstdint>
#include <optional>

namespace broadloom::spec {

struct EarlierRows {
  std::size_t loop = 0; // whose rows the let is
  std::int64_t back =
      0; // how many steps before its own position; never more than the loop has rows of the start
};

// Of let k; none where its value is anything else.
std::optional<EarlierRows> earlier_rows(LetKernels lets, std::size_t k);

} // namespace broadloom::spec
