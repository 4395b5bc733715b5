// Gathers: windows that take positions from elements of other inputs, x[k[i], j].
//
//   x : f32[5, 3], k : [4, 0]        x[k[i], j] is [[x40, x41, x42], [x00, x01, x02]]
//
// A call looks at all positions, and only then copies what they say, as long as nothing is written. So no kernel ever reads at a
// position that was not checked, and an output may lie on x or on k.
#pragma once

#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace broadloom::kernel {

// Runs task(0) to task(count - 1), at the same time or one after the other, and comes back when all are done. No task throws.
using RunTasks =
    std::function<void(std::int64_t count, const std::function<void(std::int64_t)> &task)>;
void run_in_order(std::int64_t count, const std::function<void(std::int64_t)> &task);

// The positions along one dim of an array that a window reads, for all positions of those of its axes that matter.
struct ListedPositions {
  int dim = 0;                                // of the array
  std::vector<std::int64_t> steps;            // [dim of the window]: between entries; 0 where they are the same
  Array entries;                              // i64; -1: there is nothing, which is read as 0
  const std::int64_t *at() const { return static_cast<const std::int64_t *>(entries.raw()); }
};

// Where a window reads along the dims that a strided view cannot follow: those with an index, and of derived windows those that may
// leave the array. `shape` is that of the window, `operands` are views of all inputs before it. Throws DataError E0311 for the first
// element, in C order, that says a position outside.
std::vector<ListedPositions> listed_positions(const spec::TypedSpec &spec, std::size_t window,
                                              const Layout &shape,
                                              std::span<const AnyView *const> operands,
                                              const RunTasks &tasks);

// Fills `to`, which lies in C order, with what a gather reads.
void gather(const spec::TypedSpec &spec, std::size_t window, std::span<const AnyView *const> operands,
            const Array &to, const RunTasks &tasks);

} // namespace broadloom::kernel
