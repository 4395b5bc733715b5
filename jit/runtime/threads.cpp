// See threads.hpp.
#include "jit/runtime/threads.hpp"

#include "jit/runtime/workers.hpp"
#include "jit/small.hpp"
#include "support/check.hpp"
#include "support/float_control.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

namespace broadloom::jit::runtime {
namespace {

// One phase being run. oneTBB orders what its tasks do, but ThreadSanitizer cannot see into its library;
// the two atomics say the same once more, at the cost of an addition for each block: what the caller did
// comes before every block, and every block before what the caller does next.
struct Job {
  const Grid &grid;
  const PhaseFn phase;
  const loop::Frame &frame;
  const Rows &rows;
  const CancelFlag cancel;
  std::atomic<bool> ready{false};
  mutable std::atomic<std::int64_t> finished{0};

  void operator()() const { // perhaps on a thread of the arena, where that is full
    const std::int64_t blocks = ready.load(std::memory_order_acquire) ? grid.blocks : 0;
    tbb::parallel_for(
        tbb::blocked_range<std::int64_t>(0, blocks, 1),
        [this](const auto &range) { run(range.begin(), range.end()); }, tbb::simple_partitioner());
    finished.fetch_add(1, std::memory_order_release);
  }

  void run(std::int64_t first, std::int64_t last) const {
    if (!ready.load(std::memory_order_acquire)) return; // never
    const support::FloatControl control;
    Small<char *, few_buffers> buffers(rows.bytes > 0 ? rows.buffer_count : 0);
    loop::Frame own = frame;
    if (rows.bytes > 0) {
      const int thread = tbb::this_task_arena::current_thread_index();
      support::check(thread >= 0 && thread < rows.threads, "a thread has no rows");
      std::copy_n(frame.buffers, rows.buffer_count, buffers.data());
      for (const std::size_t b : rows.buffers) buffers[b] += thread * rows.bytes;
      own.buffers = buffers.data();
    }
    std::int64_t lo[most_parallel_axes], hi[most_parallel_axes];
    for (std::int64_t block = first; block != last && !is_cancelled(cancel); ++block) {
      place_block(grid, block, lo, hi);
      phase(&own, lo, hi);
    }
    finished.fetch_add(last - first, std::memory_order_release);
  }
};

} // namespace

namespace {

// oneTBB starts no more threads than the machine has, and says so on stderr, unless it is told that
// more are wanted. It goes by the least of all wishes in force, so there must be one of ours at most.
// A wish of the program around us for fewer threads stays in force.
int allow(int threads) {
  using tbb::global_control;
  static global_control *wish = nullptr; // never freed
  static int wished = 0;
  const auto limit = [] {
    return int(global_control::active_value(global_control::max_allowed_parallelism));
  };
  if (threads > limit() && threads > wished) {
    delete wish;
    wish = new global_control(global_control::max_allowed_parallelism, std::size_t(threads));
    wished = threads;
  }
  return std::min(threads, limit());
}

} // namespace

Workers &workers(int threads) {
  // Reached through pointers that are never freed, so nothing is destroyed at exit.
  static std::mutex &mutex = *new std::mutex;
  static auto &arenas = *new std::map<int, std::unique_ptr<Workers>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Workers> &entry = arenas[threads];
  if (!entry) entry = std::make_unique<Workers>(allow(threads));
  return *entry;
}

void run_blocks(Workers &workers, const Grid &grid, PhaseFn phase, const loop::Frame &frame,
                const Rows &rows, CancelFlag cancel) {
  Job job{grid, phase, frame, rows, cancel};
  job.ready.store(true, std::memory_order_release);
  workers.arena.execute(job);
  job.finished.load(std::memory_order_acquire);
}

} // namespace broadloom::jit::runtime
