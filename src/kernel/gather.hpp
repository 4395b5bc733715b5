// Gathers: windows that take positions from elements of other inputs, x[k[i], j].
//
//   x : f32[5, 3], k : [4, 0]        x[k[i], j] is [[x40, x41, x42], [x00, x01, x02]]
//
// A call looks at all positions (positions.hpp), and only then copies what they say, as long as
// nothing is written. So no kernel ever reads at a position that was not checked, and an output may
// lie on x or on k.
#pragma once

#include "kernel/positions.hpp"

namespace broadloom::kernel {

// What a gather reads for the points of a window: dims of more than one element, from the outermost
// on, of which some are merged.
struct GatherWalk {
  struct Dim {
    std::int64_t extent = 1;
    std::int64_t step = 0;           // elements of the array
    std::vector<std::int64_t> steps; // [list]: entries
    bool is_plain() const {
      return std::all_of(steps.begin(), steps.end(), [](std::int64_t s) { return s == 0; });
    }
  };
  std::vector<Dim> dims;
  std::int64_t offset = 0;           // elements of the array before the first
  std::vector<std::int64_t> strides; // [list]: of the array
};
// The lists need no entries.
GatherWalk walk_of_gather(const spec::TypedSpec &spec, std::size_t window,
                          std::span<const AnyView *const> operands, const AnyView &of,
                          const Layout &to, const std::vector<ListedPositions> &lists);

// Fills `to`, which lies in C order, with what a gather reads of `of`: the array, or a copy of it
// with the borders that the gather sees. `operands` are views of all inputs before it. Throws
// DataError E0315.
void gather(const spec::TypedSpec &spec, std::size_t window,
            std::span<const AnyView *const> operands, const AnyView &of, const Array &to,
            const RunTasks &tasks);

} // namespace broadloom::kernel
