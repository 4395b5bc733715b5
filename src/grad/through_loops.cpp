// Back through lets that read themselves at earlier positions of an axis (spec/recurrence.hpp).
//
//   let h[t, i] = tanh(x + sum(h[t - 1, k] * v, k))
//
// A step sends something to each read of an earlier one: the derivative of its value, with the axes
// of the read. What flows into h[t] comes from its readers and from the steps after t, so both are
// lets that read each other at later positions and run backwards:
//
//   let d_h[t, i]   = g_h[t, i] + d_h_1[t + 1, i]
//       g_h: from the readers, as into any let
//   let d_h_1[t, k] = sum(d_h * (1 - h[t, i]^2) * v, i)        what step t sends to h[t - 1, k]
//
// What a step sends through a window is summed in the dims of the let that it comes from
// (rewrite/transpose_windows.hpp):
//
//   let u[t, i] = sum(pad(u, 1: (1, 1))[t - 1, i + k] * w, k)
//   let d_u[t, i] = g_u[t, i] + d_u_1[t + 1, i]
//   let d_u_1[t, i_u] = sum(d_u[t, i] * w, like=pad(u, 1: (1, 1))[t, i + k])
//
// All else that a step reads gets its share from all t at once: the kernel of all steps is derived
// as that of any let, with arrays in place of the reads of earlier steps.
#include "grad/through_loop.hpp"

namespace broadloom::grad {

void ThroughLets::pull_loop(std::size_t first) { ThroughLoop(*this, first).run(); }

} // namespace broadloom::grad
