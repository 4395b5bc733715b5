// Processes that end, in whole or but for their main thread, while kernels are compiled or run.
#include "tests/processes/modes.hpp"
#include "tests/processes/process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

namespace broadloom::processes {
int many_ends(const char *mode, int count) {
  Tally tally;
  for (int k = 0; k < count; ++k) tally.add(run_again({mode, std::to_string(delay_of(k))}));
  return tally.tell();
}

void end_compiling(int delay) {
  static std::atomic<bool> never{false};
  for (int k = 0; k < 3; ++k) std::thread([k] { compile_for_ever(k, never); }).detach();
  usleep(useconds_t(delay));
  std::exit(0);
}

void end_running(int delay) {
  static const Kernel &kernel = *new Kernel(kernel_with("1"));
  for (int k = 0; k < 3; ++k)
    std::thread([] {
      for (;;) is_right(kernel, many, 2);
    }).detach();
  usleep(useconds_t(delay));
  std::exit(0);
}

void end_tiered(int delay) {
  static std::atomic<bool> never{false};
  for (int k = 0; k < 2; ++k) std::thread([k] { call_tiered_for_ever(k, never); }).detach();
  usleep(useconds_t(delay));
  std::exit(0);
}

void leave_main() {
  if (!is_right(kernel_with("1"), many, 2)) _exit(1);
  std::thread([] {
    usleep(20'000); // until main is gone
    bool good = true;
    for (int k = 0; k < 3; ++k) {
      const Kernel kernel = kernel_with(std::to_string(k) + ".5");
      good = is_right(kernel, many, k + 1.5) && kernel.engine() == Engine::jit && good;
    }
    std::exit(good ? 0 : 1);
  }).detach();
  pthread_exit(nullptr);
}

} // namespace broadloom::processes
