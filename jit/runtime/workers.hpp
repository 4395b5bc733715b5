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
};

} // namespace broadloom::jit::runtime
