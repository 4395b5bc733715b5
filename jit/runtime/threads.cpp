// See threads.hpp.
#include "jit/runtime/threads.hpp"

#include "jit/runtime/allowance.hpp"
#include "jit/runtime/shares.hpp"
#include "jit/runtime/small.hpp"
#include "jit/runtime/workers.hpp"
#include "support/check.hpp"
#include "support/end.hpp"
#include "support/float_control.hpp"
#include "support/undivided.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace broadloom::jit::runtime {
namespace {

// Blocks being run, each by `visit(frame, block)`. oneTBB orders what its tasks do, but
// ThreadSanitizer cannot see into its library; the two atomics say the same once more, at the cost
// of an addition for each block: what the caller did comes before every block, and every block
// before what the caller does next.
template <class Visit> struct Job {
  const std::int64_t all;
  const Visit &visit;
  const loop::Frame &frame;
  const Rows &rows;
  const CancelFlag cancel;
  Shares shares;
  std::atomic<bool> ready{false};
  mutable std::atomic<std::int64_t> finished{0};

  void operator()() const { // perhaps on a thread of the arena, where that is full
    const std::int64_t blocks = ready.load(std::memory_order_acquire) ? all : 0;
    tbb::parallel_for(
        tbb::blocked_range<std::int64_t>(0, blocks, 1),
        [this](const auto &range) { run(range.begin(), range.end()); }, tbb::simple_partitioner());
    finished.fetch_add(1, std::memory_order_release);
  }

  void run(std::int64_t first, std::int64_t last) const {
    if (!ready.load(std::memory_order_acquire)) return; // never
    const support::FloatControl control;
    const int thread = tbb::this_task_arena::current_thread_index();
    support::check(rows.bytes == 0 || (thread >= 0 && thread < rows.threads),
                   "a thread has no rows");
    Own own(frame, rows, thread);
    for (std::int64_t block = first; block != last && !is_cancelled(cancel); ++block)
      visit(own.frame, block);
    finished.fetch_add(last - first, std::memory_order_release);
  }

  // Blocks one after the other, as the one of those that stood by who has this seat.
  void take_part(int seat) {
    if (rows.bytes > 0 && seat >= rows.threads) return;
    const support::FloatControl control;
    Own own(frame, rows, seat);
    shares.take(seat, [&](std::int64_t block) {
      if (is_cancelled(cancel)) return false;
      visit(own.frame, block);
      return true;
    });
  }

  // A frame with the rows of a thread.
  struct Own {
    Own(const loop::Frame &shared, const Rows &rows, int thread)
        : buffers(rows.bytes > 0 ? rows.buffer_count : 0), frame(shared) {
      if (rows.bytes == 0) return;
      std::copy_n(shared.buffers, rows.buffer_count, buffers.data());
      for (const std::size_t b : rows.buffers) buffers[b] += thread * rows.bytes;
      frame.buffers = buffers.data();
    }
    Small<char *, few_buffers> buffers;
    loop::Frame frame;
  };
};

template <class Visit>
void share_out(Workers &workers, std::int64_t blocks, const Visit &visit, const loop::Frame &frame,
               const Rows &rows, CancelFlag cancel) {
  const int threads = int(std::min<std::int64_t>(workers.threads, blocks));
  Job<Visit> job{blocks, visit, frame, rows, cancel, Shares(blocks, threads)};
  job.ready.store(true, std::memory_order_release);
  workers.hand_out(threads, [&](int seat) { job.take_part(seat); }, job);
  job.finished.load(std::memory_order_acquire);
}

// A child of fork has none of the threads of oneTBB, which goes on waiting for them.
std::atomic<bool> started{false}, lost{false};

// Threads of the arena wait for each other, so that oneTBB makes all of them now. Some may be busy
// elsewhere.
void meet(tbb::task_arena &arena, int threads) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(50);
  std::atomic<int> there{0};
  arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<int>(0, threads, 1),
        [&](const auto &) {
          there.fetch_add(1);
          while (there.load() < threads && Clock::now() < end) std::this_thread::yield();
        },
        tbb::simple_partitioner());
  });
}

} // namespace

bool Workers::have_no_threads() {
  return lost.load(std::memory_order_relaxed) || support::end_has_begun();
}

void Workers::start() {
  if (support::end_has_begun()) return; // of the main thread only, it may be
  static constinit support::Mutex mutex;
  Allowed allowed;
  {
    const std::lock_guard lock(mutex);
    if (state_.load() != State::Idle) return;
    static const bool watched =
        pthread_atfork(nullptr, nullptr, [] { lost.store(started.load()); }) == 0;
    if (threads > 1 && watched && !have_no_threads()) allowed = allowed_threads(threads);
    if (allowed.threads > 1) {
      arena.initialize(allowed.threads);
      standby.begin(allowed.threads);
      started.store(true);
    }
    state_.store(allowed.threads > 1 ? State::Started : State::Alone, std::memory_order_release);
  }
  if (allowed.are_new) meet(arena, allowed.threads);
}

Workers &workers(int threads) {
  // Reached through pointers that are never freed, so nothing is destroyed at exit.
  static constinit support::Mutex mutex;
  const std::lock_guard lock(mutex);
  static auto &arenas = *new std::map<int, std::unique_ptr<Workers>>;
  std::unique_ptr<Workers> &entry = arenas[threads];
  if (!entry) entry = std::make_unique<Workers>(threads);
  return *entry;
}

void run_blocks(Workers &workers, const Grid &grid, PhaseFn phase, const loop::Frame &frame,
                const Rows &rows, CancelFlag cancel) {
  const auto visit = [&](const loop::Frame &own, std::int64_t block) {
    std::int64_t lo[most_parallel_axes], hi[most_parallel_axes];
    place_block(grid, block, lo, hi);
    phase(&own, lo, hi);
  };
  if (!grid.only_if_awake) return share_out(workers, grid.blocks, visit, frame, rows, cancel);
  if (workers.are_alone()) return phase(&frame, grid.lo.data(), grid.hi.data());
  const int threads = threads_awake(grid.blocks, workers.threads);
  Job job{grid.blocks, visit, frame, rows, cancel, Shares(grid.blocks, threads)};
  if (!workers.standby.share(1, threads, [&](int seat) { job.take_part(seat); }))
    phase(&frame, grid.lo.data(), grid.hi.data());
  workers.standby.expect_more(threads);
}

void run_tasks(Workers &workers, std::int64_t count,
               const std::function<void(std::int64_t)> &task) {
  const auto visit = [&](const loop::Frame &, std::int64_t k) { task(k); };
  share_out(workers, count, visit, loop::Frame(), Rows(), nullptr);
}

void run_interleaved(Workers &workers, const InterleavedCode &code, const loop::Frame &frame,
                     const Rows &rows, CancelFlag cancel) {
  const auto visit = [&](const loop::Frame &own, std::int64_t block) {
    std::int64_t lo[most_parallel_axes], hi[most_parallel_axes];
    for (const InterleavedCode::Part &part : code.parts) {
      std::fill_n(lo, part.extents.size(), 0);
      std::copy(part.extents.begin(), part.extents.end(), hi);
      const auto begin = [&](std::int64_t k) { // of block k
        const std::int64_t granules = (part.extents[0] + part.granule - 1) / part.granule;
        const std::int64_t first =
            granules / code.blocks * k + granules % code.blocks * k / code.blocks;
        return std::min(first * part.granule, part.extents[0]);
      };
      lo[0] = begin(block);
      hi[0] = begin(block + 1);
      if (lo[0] < hi[0]) part.code(&own, lo, hi);
    }
  };
  if (code.on_threads) return share_out(workers, code.blocks, visit, frame, rows, cancel);
  for (std::int64_t block = 0; block != code.blocks && !is_cancelled(cancel); ++block)
    visit(frame, block);
}

} // namespace broadloom::jit::runtime
