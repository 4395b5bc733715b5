// Sums through gathers, apart from the rest of a kernel.
//
//   out d = 2 * sum(e, like=x[k[i], j])
//
//   before    out sum0[i, j] = e                          what is to be added, where the window
//                                                         reads
//   after     in S : as x       out d = 2 * S             S: what comes together at each position
//                                                         of x
//
// Between the two a call adds e up (kernel/scatter.hpp). S is an input behind the windows that a
// call is not given. What is before may have such sums itself.
#pragma once

#include "spec/spec.hpp"

#include <optional>

namespace broadloom::rewrite {

struct Scatters {
  spec::TypedSpec whole; // as the definition has it
  spec::TypedSpec before, after;
  // Output s of `before` goes into the s-th input of `after` that has TypedWindow::sum.
};

// Is this node sum(.., like=x[k[i], j])?
bool is_scatter(const spec::TypedSpec &spec, const expr::Node &node);

// Nothing where there are none.
std::optional<Scatters> split_scatters(const spec::TypedSpec &spec);

} // namespace broadloom::rewrite
