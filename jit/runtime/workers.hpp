// Inside the run-time: the arena behind Workers, and those of its threads that stand by.
#pragma once

#include "jit/runtime/standby.hpp"
#include "jit/runtime/threads.hpp"

#include <oneapi/tbb/task_arena.h>

namespace broadloom::jit::runtime {

class Workers {
public:
  explicit Workers(int threads) : threads(threads), arena(threads), standby(arena, threads) {}
  const int threads; // the caller's among them
  tbb::task_arena arena;
  Standby standby;

  // A job for so many threads: by part(place) of those that stand by, or else by oneTBB, which `in_arena` calls there.
  template <class Part, class InArena>
  void hand_out(int count, const Part &part, const InArena &in_arena) {
    if (!standby.share(count - 1, part)) {
      const Standby::Elsewhere elsewhere(standby);
      arena.execute(in_arena);
    }
    standby.expect_more();
  }
};

} // namespace broadloom::jit::runtime
