// Many processes that share a disk cache, all at once.
//
// A process that compiles waits for a processor when there are more processes than these, which is
// no matter of the cache. So the time that one call waits is the time that it takes, less what it
// has a processor, less what it is ready to run and gets none: the disk, and locks.
#include "tests/processes/cache_folder.hpp"
#include "tests/processes/modes.hpp"
#include "tests/processes/process.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <new>
#include <vector>

namespace broadloom::processes {
namespace {

double seconds_by(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

double seconds_ready() { // and without a processor
  double running = 0, ready = 0;
  std::ifstream("/proc/thread-self/schedstat") >> running >> ready;
  return ready * 1e-9;
}

struct Clock {
  double wall = seconds_by(CLOCK_MONOTONIC), running = seconds_by(CLOCK_THREAD_CPUTIME_ID),
         ready = seconds_ready();
};

struct Shared { // by all processes
  std::atomic<int> begun{0}, loaded{0}, wrong{0};
  std::atomic<bool> may_go{false};
  std::atomic<double> wait{0}, whole{0}; // the longest of one call, in seconds
};

void raise(std::atomic<double> &longest, double seconds) {
  for (double old = longest; old < seconds && !longest.compare_exchange_weak(old, seconds);) {
  }
}

[[noreturn]] void be_one_of_crowd(const CacheFolder &folder, Shared &shared, int first,
                                  int kernels) {
  alarm(15 * patience);
  folder.keep(-1); // loads LLVM
  ++shared.begun;
  while (!shared.may_go) usleep(100);
  for (int k = 0; k < kernels; ++k) {
    const Clock begin;
    const CacheFolder::Kept kept = folder.keep((first + k) % kernels);
    const Clock end;
    shared.loaded += kept.is_loaded;
    shared.wrong += !kept.is_right;
    const double whole = end.wall - begin.wall;
    raise(shared.whole, whole);
    raise(shared.wait, whole - (end.running - begin.running) - (end.ready - begin.ready));
  }
  _exit(0);
}

} // namespace

int cache_crowd(int processes, int kernels, double longest_wait) {
  const CacheFolder folder;
  void *memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return std::perror("mmap"), 2;
  Shared &shared = *new (memory) Shared;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    const pid_t child = fork();
    if (child < 0) return std::perror("fork"), 2;
    // Half of them begin together, the others each elsewhere.
    const int first = p % 2 == 0 ? 0 : int(std::int64_t(p) * kernels / processes);
    if (child == 0) be_one_of_crowd(folder, shared, first, kernels);
    children.push_back(child);
  }
  for (unsigned looks = 0; shared.begun < processes && looks < 1000 * patience; ++looks)
    usleep(1000);
  shared.may_go = true;
  Tally tally;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    tally.add(status);
  }
  const int calls = processes * kernels, left = int(folder.unfinished().size());
  std::printf("%d processes with %d kernels each: %d made, %d taken from disk, %d wrong, %d "
              "unfinished files stay; the longest call took %.3f s and waited %.3f s for the disk "
              "and for locks\n",
              processes, kernels, calls - shared.loaded, shared.loaded.load(), shared.wrong.load(),
              left, shared.whole.load(), shared.wait.load());
  const bool good = tally.good == processes && shared.wrong == 0 && left == 0 &&
                    shared.wait <= longest_wait && int(folder.entries().size()) == kernels + 1;
  munmap(memory, sizeof(Shared));
  return !good;
}

} // namespace broadloom::processes
