// Sums through gathers: sum(e, like=x[k[i], j]).
//
//   x : f32[5, 2], k : [4, 0, 4]      row 4 of the sum is e[0] + e[2], row 0 is e[1], all others are 0
//
// Values of one position are added in the logical order of i, as the accumulate type has it: one
// after the other, as they come. Elements that both have, as along j, are shared out, so the bits
// are the same for any number of threads.
#pragma once

#include "kernel/positions.hpp"

namespace broadloom::kernel {

// Sets `to`, in C order and of the shape of what the window is of, to what comes together of `values`, in C order over the window. Both are
// of the accumulate type. `operands` are views of all inputs before the window. Throws DataError E0315, as gather().
void scatter(const spec::TypedSpec &spec, std::size_t window,
             std::span<const AnyView *const> operands, const Array &values, const Array &to,
             const RunTasks &tasks);

} // namespace broadloom::kernel
