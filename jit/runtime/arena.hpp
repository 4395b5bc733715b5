// Memory of a caller, from which the calls of a thread take what they need for their time
// (include/broadloom/arena.hpp), and what else is of the thread that calls.
#pragma once

#include "support/undivided.hpp"

#include <atomic>
#include <cstddef>

namespace broadloom::jit::runtime {

class CallArena { // thread-safe: threads that help have memory of it, too
public:
  CallArena(void *memory, std::size_t bytes);
  // One that tells how much a call would take, which then is not run.
  CallArena() : measures_(true) {}
  CallArena(const CallArena &) = delete;

  static constexpr std::size_t alignment = 64;
  static std::size_t rounded(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  char *take(std::size_t bytes); // null where there is no such room
  void give_back(char *block, std::size_t bytes);
  std::size_t room() const; // where nothing is taken

  bool measures() const { return measures_; }
  std::size_t measured = 0; // where it does

  // How often in this process a step needed more than its call had said: see Scratch.
  static inline std::atomic<int> missed = 0;

  // That of this thread's calls while a Use lives; null: none.
  static CallArena *now();
  class Use;

private:
  struct Free { // lies in the memory that it tells of
    Free *next;
    std::size_t bytes;
  };

  const bool measures_ = false;
  mutable support::Mutex mutex_;          // guards the rest
  char *next_ = nullptr, *end_ = nullptr; // behind all that is taken
  Free *free_ = nullptr;                  // what was given back before that
};

struct ThisThread {
  int most_threads = 0; // of its calls: ThreadCap. 0: none
  CallArena *arena = nullptr;
};
inline constinit thread_local ThisThread this_thread;

inline CallArena *CallArena::now() { return this_thread.arena; }

class CallArena::Use {
public:
  explicit Use(CallArena *arena) : before_(this_thread.arena) { this_thread.arena = arena; }
  Use(const Use &) = delete;
  ~Use() { this_thread.arena = before_; }

private:
  CallArena *const before_;
};

} // namespace broadloom::jit::runtime
