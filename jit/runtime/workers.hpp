// Inside the run-time: the arena behind Workers.
#pragma once

#include "jit/runtime/threads.hpp"

#include <oneapi/tbb/task_arena.h>

namespace broadloom::jit::runtime {

class Workers {
public:
  explicit Workers(int threads) : arena(threads) {}
  tbb::task_arena arena;
};

} // namespace broadloom::jit::runtime
