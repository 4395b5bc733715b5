// See undivided.hpp.
#include "support/undivided.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace broadloom::support {
namespace {

std::atomic<int> inside{0}; // threads
std::atomic<int> closed{0}; // by threads that fork or end the process
std::atomic<bool> torn{false};
std::atomic<unsigned> forks_so_far{0};
thread_local int depth = 0; // of what this thread is inside of
thread_local bool ending = false;

// Nobody gets in any more; returns when nobody but this thread is inside, which keeps its way in. Whoever is inside may wait for
// a lock of the program around us that this thread holds, so not for ever.
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
  closed.store(ending);
}

void at_exit() {
  if (ending) return;
  ending = true;
  close_and_wait();
}

void watch_forks() {
  static const bool watched = pthread_atfork(before_fork, after_fork, in_child) == 0;
  (void)watched; // where that takes memory that is not there, a fork does not wait
}

void enter() {
  if (depth++ > 0) return;
  watch_forks();
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
  mutex_.lock();
}
void Mutex::unlock() {
  mutex_.unlock();
  leave();
}

bool is_torn() { return torn.load(std::memory_order_relaxed); }
unsigned forks() { return forks_so_far.load(std::memory_order_relaxed); }
bool ends_here() { return ending; }

void wait_at_exit() {
  // Handlers cannot be taken back: the more there are, the less often one is added.
  static std::atomic<unsigned> times{0};
  const unsigned time = times.fetch_add(1) + 1;
  if ((time & (time - 1)) == 0) (void)std::atexit(at_exit);
}

} // namespace broadloom::support
