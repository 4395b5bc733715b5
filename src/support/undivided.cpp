// See undivided.hpp.
#include "support/undivided.hpp"

#include "support/end.hpp"

#include <broadloom/error.hpp>

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace broadloom::support {
namespace {

std::atomic<int> inside{0}; // threads
std::atomic<int> closed{0}; // by threads that fork
std::atomic<bool> torn{false};
std::atomic<unsigned> forks_so_far{0};
thread_local int depth = 0; // of what this thread is inside of

// Nobody gets in any more; returns when nobody but this thread is inside, which keeps its way in.
// Whoever is inside may wait for a lock of the program around us that this thread holds, so not for
// ever.
bool close_and_wait() {
  constexpr std::chrono::seconds patience{10};
  const int own = depth > 0;
  closed.fetch_add(1);
  ++depth;
  const auto end = std::chrono::steady_clock::now() + patience;
  while (inside.load() > own) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

thread_local bool alone = true; // of the last time

void before_fork() { alone = close_and_wait(); }

void after_fork() {
  --depth;
  closed.fetch_sub(1);
  closed.notify_all();
}

void in_child() {
  --depth;
  if (!alone) torn.store(true);
  forks_so_far.fetch_add(1);
  inside.store(depth > 0);
  closed.store(0);
  watch_end_in_child();
}

// As the library is loaded: a fork beside the first use would miss a later one. Where it takes
// memory that is not there, a fork does not wait.
__attribute__((constructor)) void watch_forks() {
  (void)pthread_atfork(before_fork, after_fork, in_child);
}

void enter() {
  if (depth++ > 0) return;
  for (;;) { // of two that meet, one sees the other
    inside.fetch_add(1);
    const int by = closed.load();
    if (by == 0) return;
    inside.fetch_sub(1);
    closed.wait(by);
  }
}

void leave() {
  if (--depth == 0) inside.fetch_sub(1);
}

} // namespace

Undivided::Undivided() { enter(); }
Undivided::~Undivided() { leave(); }

bool Undivided::hand_on() {
  if (depth == 0) return false;
  inside.fetch_add(1);
  return true;
}
void Undivided::take_over() { depth = 1; }
void Undivided::hand_back() { inside.fetch_sub(1); }

void Mutex::lock() {
  enter();
  if (!mutex_.try_lock()) {
    if (is_torn())
      lock_in_torn_child();
    else
      mutex_.lock();
  }
  held_after_.store(forks(), std::memory_order_relaxed);
}

// Held since before the fork, it stays so. What was last said may be old for a moment, before the
// next holder says so.
void Mutex::lock_in_torn_child() {
  for (int look = 0; look < 200; ++look) {
    if (held_after_.load(std::memory_order_relaxed) == forks()) return mutex_.lock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (mutex_.try_lock()) return;
  }
  leave();
  throw CompileError(
      "E0501",
      "this process was forked while another thread compiled, and that took too long "
      "to be waited for",
      {}, "fork while nothing is compiled, or begin another program by exec");
}

void Mutex::unlock() {
  mutex_.unlock();
  leave();
}

bool is_torn() { return torn.load(std::memory_order_relaxed); }
unsigned forks() { return forks_so_far.load(std::memory_order_relaxed); }

} // namespace broadloom::support
