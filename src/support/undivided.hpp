// What a fork may not cut in two.
//
// Problem: a child of fork has one thread only. A lock that another thread of its parent held stays
// locked there for ever, and what that thread was making stays half made.
// Method: threads that compile or hold a lock of ours are counted. A fork first waits until there
// is none but the one that forks, and meanwhile lets nobody in.
// Example: const Undivided here;            Mutex mutex; const std::lock_guard lock(mutex);
//
// Running code is not counted: it holds no lock of ours, and a fork must not wait for hours.
#pragma once

#include <atomic>
#include <mutex>

namespace broadloom::support {

class Undivided { // may be nested
public:
  Undivided();
  ~Undivided();
  Undivided(const Undivided &) = delete;
  Undivided &operator=(const Undivided &) = delete;

  // A thread that is begun by one that counts does so itself, from before there is a gap: `hand_on`
  // there, `take_over` in the new thread, and `hand_back` where there is none after all.
  static bool hand_on(); // whether this thread counts
  static void take_over();
  static void hand_back();
};

// No fork leaves it locked in the child, but in one that is torn: `lock` throws CompileError E0501
// there. One that is static is `constinit`, as a fork could cut its making in two. What it guards
// is made under it.
class Mutex {
public:
  void lock();
  void unlock();

private:
  void lock_in_torn_child();

  std::mutex mutex_;
  std::atomic<unsigned> held_after_{0}; // so many forks
};

// Somebody was still inside when this process was forked, after ten seconds of waiting: what it was
// making is half made.
bool is_torn();

// How many forks lie between this process and the one that began.
unsigned forks();

} // namespace broadloom::support
