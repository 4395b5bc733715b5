// Compilations on several threads.
//
// Not on oneTBB's: a thread of its pool that waits may take up other work meanwhile, and so come to
// wait for what it is making itself.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>

namespace broadloom::jit {

// A thread that runs `work`, which throws nothing, with default floating-point control. No signal
// comes to it: the program's handlers run on the program's threads. It begins on another processor
// than this one, which goes on: in work of a few milliseconds Linux would often see no reason to
// move it there.
class Beside {
public:
  explicit Beside(std::function<void()> work); // does nothing where there can be no further thread
  Beside(const Beside &) = delete;
  Beside &operator=(const Beside &) = delete;
  ~Beside() { join(); }

  bool runs() const { return runs_; } // false: there can be no further thread
  void join();
  void leave(); // nobody waits for it

private:
  pthread_t thread_{};
  bool runs_ = false;
};

// Whether a second thread is allowed, and there is a second processor for it.
bool may_go_beside(int threads);

// Calls work(0) .. work(parts - 1), each once, on this thread and others that end with it. Where
// some of them throw, what the first part has thrown comes out.
void on_threads(std::size_t parts, int threads, const std::function<void(std::size_t)> &work);

} // namespace broadloom::jit
