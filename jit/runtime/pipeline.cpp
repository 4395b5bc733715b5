// See pipeline.hpp.
#include "jit/runtime/pipeline.hpp"

#include "jit/runtime/workers.hpp"
#include "support/float_control.hpp"
#include "support/relax.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace broadloom::jit::runtime {
namespace {

// The atomics also say what comes before what to ThreadSanitizer, as those of Job in threads.cpp
// do.
struct Journey {
  const PipelineCode &pipeline;
  const loop::Frame &frame;
  const CancelFlag cancel;
  const std::int64_t blocks;
  std::atomic<bool> ready{false};
  std::atomic<std::int64_t> taken{0};  // blocks that some thread has begun
  std::atomic<std::int64_t> passed{0}; // blocks that have been through the middle phase
  std::atomic<std::int64_t> ended{0};  // threads that are done

  void run() {
    if (!ready.load(std::memory_order_acquire)) return; // never
    const support::FloatControl control;
    while (!is_cancelled(cancel)) {
      const std::int64_t block = taken.fetch_add(1, std::memory_order_acq_rel);
      if (block >= blocks) break;
      visit(block);
    }
    ended.fetch_add(1, std::memory_order_release);
  }

  // A block that was begun goes to its end, so that nobody waits for it in vain.
  void visit(std::int64_t block) {
    const std::int64_t place = pipeline.reverse ? blocks - 1 - block : block;
    const std::int64_t lo = place * pipeline.step;
    const std::int64_t hi = std::min(lo + pipeline.step, pipeline.chunks);
    pipeline.phases[0](&frame, &lo, &hi);
    wait_for(block);
    pipeline.phases[1](&frame, &lo, &hi);
    passed.store(block + 1, std::memory_order_release);
    pipeline.phases[2](&frame, &lo, &hi);
  }

  void wait_for(std::int64_t block) const {
    constexpr int spins = 2000; // some 50 us: the other thread may not be running
    for (int turn = 0; passed.load(std::memory_order_acquire) < block; ++turn)
      turn < spins ? support::relax() : std::this_thread::yield();
  }
};

} // namespace

void run_pipeline(Workers &workers, const PipelineCode &pipeline, const loop::Frame &frame,
                  CancelFlag cancel) {
  const std::int64_t blocks = (pipeline.chunks + pipeline.step - 1) / pipeline.step;
  Journey journey{pipeline, frame, cancel, blocks};
  journey.ready.store(true, std::memory_order_release);
  if (!pipeline.on_threads) return journey.run();
  const std::int64_t threads = std::min<std::int64_t>(workers.threads, blocks);
  workers.hand_out(
      int(threads), [&](int) { journey.run(); },
      [&] {
        tbb::parallel_for(
            tbb::blocked_range<std::int64_t>(0, threads, 1), [&](const auto &) { journey.run(); },
            tbb::simple_partitioner());
      });
  journey.ended.load(std::memory_order_acquire);
}

} // namespace broadloom::jit::runtime
