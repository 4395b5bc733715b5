// Runs a phase over its parallel axes, on the calling thread or on several.
//
// The box of all positions is cut into blocks beforehand, when the layouts of a call are first seen;
// oneTBB then only hands out block numbers. Nothing depends on which thread runs which block, so the
// results have the same bits for every number of threads. Work of a few tens of microseconds is not
// worth waking a thread and runs where it is.
//
//   extents 3 x 1000000, the inner axis vectorised, 2 threads, work for 16 tasks
//     outer axis: 3 blocks of 1;  inner axis: 6 blocks of 166912 (a multiple of 1024);  18 blocks
#pragma once

#include "jit/runtime/abi.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace broadloom::jit::runtime {

inline constexpr std::size_t most_parallel_axes = 128;

struct Grid {
  std::vector<std::int64_t> lo, hi; // the whole box
  std::vector<std::int64_t> step;   // [axis]: positions of a block
  std::vector<std::int64_t> count;  // [axis]: blocks
  std::int64_t blocks = 1;          // their product; 0 where an extent is 0: nothing runs
};

// `work` is in rough cycles for the whole phase; `vector_axis` is the place of the axis that runs
// several positions at once, so that its cuts should lie at round positions. No block should have more
// than `most` cycles, however few the threads; 0 stands for any number.
Grid make_grid(std::span<const std::int64_t> extents, std::optional<std::size_t> vector_axis,
               double work, int threads, double most = 0);

// How long a block may run where a call can be cancelled: some 5 ms.
inline constexpr double cycles_between_looks = 15e6;

// The threads that serve all kernels of one thread count: an arena of oneTBB, made once, never freed
// (oneTBB may be gone already when globals are destroyed).
class Workers;
Workers &workers(int threads);

// The buffers of which every thread has its own: in the frame stands the address of the first one's, and those of
// each further thread of the arena come `bytes` later.
struct Rows {
  std::vector<std::size_t> buffers; // indices of the frame's
  std::size_t buffer_count = 0;     // of the frame
  std::int64_t bytes = 0;           // a multiple of 64
  int threads = 1;                  // how many have rows
};

// The box lo[k] <= position < hi[k] of a block.
inline void place_block(const Grid &grid, std::int64_t block, std::int64_t *lo, std::int64_t *hi) {
  for (std::size_t k = grid.lo.size(); k-- > 0;) {
    lo[k] = block % grid.count[k] * grid.step[k];
    hi[k] = std::min(lo[k] + grid.step[k], grid.hi[k]);
    block /= grid.count[k];
  }
}

using CancelFlag = const std::atomic<bool> *; // null: never
inline bool is_cancelled(CancelFlag flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

// Calls visit(lo, hi) with the box of each block, in order, on this thread.
template <class Visit> void for_each_block(const Grid &grid, Visit visit) {
  std::int64_t lo[most_parallel_axes], hi[most_parallel_axes];
  for (std::int64_t block = 0; block != grid.blocks; ++block) {
    place_block(grid, block, lo, hi);
    visit(lo, hi);
  }
}

void run_blocks(Workers &workers, const Grid &grid, PhaseFn phase, const loop::Frame &frame,
                const Rows &rows, CancelFlag cancel);

// The caller has set FloatControl; the other threads set their own. Once `cancel` is true no further
// block is begun.
inline void run_phase(Workers &workers, const Grid &grid, PhaseFn phase, const loop::Frame &frame,
                      const Rows &rows, CancelFlag cancel = nullptr) {
  if (grid.blocks == 1)
    phase(&frame, grid.lo.data(), grid.hi.data());
  else if (grid.blocks > 1)
    run_blocks(workers, grid, phase, frame, rows, cancel);
}

} // namespace broadloom::jit::runtime
