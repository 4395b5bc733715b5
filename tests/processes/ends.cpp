// Processes that end, in whole or but for their main thread, while kernels are compiled or run.
#include "tests/processes/modes.hpp"
#include "tests/processes/process.hpp"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

namespace broadloom::processes {
namespace {

// In a process of its own: what is made before main must not be inherited.
int run_again(const char *mode, int delay) {
  const std::string number = std::to_string(delay);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(patience);
    execl("/proc/self/exe", "processes", mode, number.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

} // namespace

int many_ends(const char *mode, int count) {
  Tally tally;
  for (int k = 0; k < count; ++k) tally.add(run_again(mode, 977 * k % 60'000));
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

namespace {

bool is_late = false;
void compile_late(const char *number, double wanted) {
  if (!is_right(kernel_with(number), many, wanted)) _exit(1);
}
const struct Late {
  ~Late() {
    if (is_late) compile_late("2", 3);
  }
} late;

} // namespace

void end_late() {
  is_late = true;
  std::atexit([] { compile_late("3", 4); });
  compile_late("4", 5);
  std::atexit([] { compile_late("5", 6); });
  std::exit(0);
}

void leave_main() {
  compile_late("1", 2);
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
