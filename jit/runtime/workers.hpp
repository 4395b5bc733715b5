// Inside the run-time: the arena behind Workers, and those of its threads that stand by.
#pragma once

#include "jit/runtime/standby.hpp"

#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <cstdint>

namespace broadloom::jit::runtime {

class Workers {
public:
  explicit Workers(int threads) : threads(threads), standby(arena) {}
  const int threads; // the caller's among them
  tbb::task_arena arena;
  Standby standby;

  // Whether jobs are the caller's alone: there are no other threads to be had, or none any more, in
  // a child of fork and where the process ends. Asked before anything is asked of oneTBB.
  bool are_alone() {
    if (state_.load(std::memory_order_acquire) == State::Idle) start();
    return state_.load(std::memory_order_relaxed) == State::Alone || have_no_threads();
  }

  // A job for so many threads: by part(place) of those that stand by, or else by oneTBB, which
  // `in_arena` calls there.
  template <class Part, class InArena>
  void hand_out(int count, const Part &part, const InArena &in_arena) {
    if (are_alone()) return part(0);
    if (!standby.share(count - 1, threads, part)) {
      const Standby::Elsewhere elsewhere(standby);
      arena.execute(in_arena);
    }
    standby.expect_more(threads);
  }

private:
  enum class State : std::uint8_t { Idle, Started, Alone };
  void start();
  static bool have_no_threads();

  std::atomic<State> state_{State::Idle};
};

} // namespace broadloom::jit::runtime
