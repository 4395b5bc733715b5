// How the phases of a program are shared out: into blocks that threads take, and into pipelines of
// phases that each block goes through while it is in the caches.
//
// The box of all positions of a phase is cut into blocks beforehand, when the layouts of a call are
// first seen. Nothing depends on which thread runs which block, so the results have the same bits
// for every number of threads. Work of a few tens of microseconds is not worth waking a thread: it
// is shared with threads that are awake after another call, or runs where it is.
//
//   extents 3 x 1000000, the inner axis vectorised, 2 threads, work for 16 tasks
//     outer axis: 3 blocks of 1;  inner axis: 6 blocks of 166912 (a multiple of 1024);  18 blocks
#pragma once

#include "plan/plan.hpp"
#include "plan/thresholds.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace broadloom::plan {

inline constexpr std::size_t most_parallel_axes = 128;

struct Grid {
  std::vector<std::int64_t> lo, hi; // the whole box
  std::vector<std::int64_t> step;   // [axis]: positions of a block
  std::vector<std::int64_t> count;  // [axis]: blocks
  std::int64_t blocks = 1;          // their product; 0 where an extent is 0: nothing runs
  std::optional<std::size_t> near;  // axis whose blocks are short, for their operands to stay near
  bool only_if_awake = false; // too little to wake a thread for: shared with those that stand by

  bool wakes_threads() const { return blocks > 1 && !only_if_awake; }
};

// `work` is in rough cycles for the whole phase; `vector_axis` is the place of the axis that runs
// several positions at once, so that its cuts should lie at round positions. No block should have
// more than `most` cycles, however few the threads; 0 stands for any number. `cuts` has what the
// schedule asks of each axis: one that comes first is cut for all threads however little work there
// is.
Grid make_grid(std::span<const std::int64_t> extents, std::optional<std::size_t> vector_axis,
               double work, const Machine &machine, double most = 0, std::span<const Cut> cuts = {},
               std::int64_t granule = vector_granule);

// How a phase is cut into blocks for the machine's threads: into shorter ones where a call can be
// cancelled.
Grid grid_of(const loop::Program &program, std::size_t phase, const Binding &binding,
             const Machine &machine, bool interpreted = false, bool cancellable = false);

// The place of the parallel axis that runs several positions at once.
std::optional<std::size_t> vector_axis_of(const loop::Program &program, const loop::Phase &phase);
// Positions of the k-th of so many parallel axes at whose multiples blocks begin: a vector loop is
// cut where its lines do.
std::int64_t granule_of(std::size_t k, std::size_t axes, std::optional<std::size_t> vector_axis,
                        std::int64_t granule = vector_granule);
// Of the innermost parallel axis, where it is a vector loop.
std::int64_t vector_granule_of(const loop::Program &program, const loop::Phase &phase);

// The first phase of the pipeline that has this one.
std::optional<std::size_t> pipeline_with(const loop::Program &program, std::size_t phase);

// Whether the interpreter is likely to be done before code could be made.
bool is_soon_interpreted(const Binding &binding);

// How a phase and the two after it run as one (loop::is_pipeline).
struct Pipeline {
  std::int64_t chunks = 0;
  std::int64_t step = 1;   // chunks of a block
  bool reverse = false;    // blocks from the last chunk to the first
  bool on_threads = false; // worth more than the calling thread
};
// `grid` is that of the first phase.
std::optional<Pipeline> pipeline_of(const loop::Program &program, std::size_t first,
                                    const Binding &binding, const Grid &grid);

} // namespace broadloom::plan
