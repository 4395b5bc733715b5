// Runs a phase over its parallel axes, on the calling thread or on several, in the blocks of
// plan/tasks.hpp: oneTBB only hands out block numbers.
#pragma once

#include "jit/runtime/abi.hpp"
#include "jit/runtime/arena.hpp"
#include "plan/tasks.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace broadloom::jit::runtime {

using plan::Grid;
using plan::make_grid;
using plan::most_parallel_axes;

// The threads that serve all kernels of one thread count: an arena of oneTBB, made once, never
// freed (oneTBB may be gone already when globals are destroyed).
class Workers;
Workers &workers(int threads);

// While such a value lives, calls of this thread run on at most so many; 0: as many as before.
// Within another one the least counts.
class ThreadCap {
public:
  explicit ThreadCap(int most) : before_(now()) {
    if (most > 0 && (before_ == 0 || most < before_)) this_thread.most_threads = most;
  }
  ThreadCap(const ThreadCap &) = delete;
  ~ThreadCap() { this_thread.most_threads = before_; }
  static int now() { return this_thread.most_threads; } // 0: none

private:
  const int before_;
};

// The buffers of which every thread has its own: in the frame stands the address of the first
// one's, and those of each further thread of the arena come `bytes` later.
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

// Phases that run together (plan/interleave.hpp).
struct InterleavedCode {
  std::int64_t blocks = 0;
  struct Part {
    PhaseFn code = nullptr;
    std::vector<std::int64_t> extents; // of its parallel axes
    std::int64_t granule = 1; // positions of the outermost one at whose multiples blocks begin
  };
  std::vector<Part> parts;
  bool on_threads = false; // worth more than the calling thread
};
// A block of each part after the same block of the part before. Otherwise as run_phase.
void run_interleaved(Workers &workers, const InterleavedCode &code, const loop::Frame &frame,
                     const Rows &rows, CancelFlag cancel = nullptr);

// task(0) to task(count - 1), in any order, on the calling thread and others.
void run_tasks(Workers &workers, std::int64_t count, const std::function<void(std::int64_t)> &task);

// The caller has set FloatControl; the other threads set their own. Once `cancel` is true no
// further block is begun.
inline void run_phase(Workers &workers, const Grid &grid, PhaseFn phase, const loop::Frame &frame,
                      const Rows &rows, CancelFlag cancel = nullptr) {
  if (grid.blocks == 1)
    phase(&frame, grid.lo.data(), grid.hi.data());
  else if (grid.blocks > 1)
    run_blocks(workers, grid, phase, frame, rows, cancel);
}

} // namespace broadloom::jit::runtime
