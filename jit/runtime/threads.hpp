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
// several positions at once, so that its cuts should lie at round positions.
Grid make_grid(std::span<const std::int64_t> extents, std::optional<std::size_t> vector_axis,
               double work, int threads);

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

void run_blocks(Workers &workers, const Grid &grid, PhaseFn phase, const loop::Frame &frame,
                const Rows &rows);

// The caller has set FloatControl; the other threads set their own.
inline void run_phase(Workers &workers, const Grid &grid, PhaseFn phase, const loop::Frame &frame,
                      const Rows &rows) {
  if (grid.blocks == 1)
    phase(&frame, grid.lo.data(), grid.hi.data());
  else if (grid.blocks > 1)
    run_blocks(workers, grid, phase, frame, rows);
}

} // namespace broadloom::jit::runtime
