// Sums through gathers: sum(e, like=x[k[i], j]).
//
//   x : f32[5, 2], k : [4, 0, 4]      row 4 of the sum is e[0] + e[2], row 0 is e[1], all others
//                                     are 0
//
// Values of one position are added in the logical order of i, as the accumulate type has it: one
// after the other, as they come. Elements that both have, as along j, are shared out, so the bits
// are the same for any number of threads.
#pragma once

#include "kernel/positions.hpp"

namespace broadloom::kernel {

// How values come together.
struct ScatterWalk {
  struct Kept { // a dim that both the values and the sum have, as j above
    std::int64_t extent = 1, from = 0, to = 0; // and steps in elements
  };
  struct Walked {        // an axis along which values come together, as i above
    std::size_t dim = 0; // of the window
    std::int64_t extent = 1, step = 0;
  };
  struct LookedUp { // a dim of the array that is not kept: start + times * place, or listed
    std::size_t dim = 0;
    std::int64_t extent = 0, stride = 0, start = 0;
    std::vector<std::int64_t> times; // [walked]
    const spec::TypedWindow::Pad *pad = nullptr;
  };
  std::vector<Kept> kept;
  std::vector<Walked> walked;
  std::vector<LookedUp> looked_up;
};
ScatterWalk walk_of_scatter(const spec::TypedSpec &spec, std::size_t window, const Layout &values,
                            const Layout &to, std::span<const AnyView *const> operands);

// Sets `to`, in C order and of the shape of what the window is of, to what comes together of
// `values`, in C order over the window. Both are of the accumulate type. `operands` are views of
// all inputs before the window. Throws DataError E0315, as gather().
void scatter(const spec::TypedSpec &spec, std::size_t window,
             std::span<const AnyView *const> operands, const Array &values, const Array &to,
             const RunTasks &tasks);

} // namespace broadloom::kernel
