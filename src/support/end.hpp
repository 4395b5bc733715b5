// The end of the process, and what must be over before it.
//
// Problem: where a process ends, LLVM's tables are destroyed, while other threads may be compiling,
// and before the last handlers and destructors that may want a kernel.
// Method: whoever uses LLVM holds a `BeforeEnd`. The end waits, before anything is destroyed, until
// nobody but the thread that ends the process has one; from then on nobody gets one.
// Example: const BeforeEnd here;   if (!here) fail_native("the process ends");
//
// The main thread's end is seen as its thread-local objects are destroyed, which comes first.
// Another thread's is seen by handlers of atexit. Handlers run in reverse, so one is added whenever
// LLVM may have made something that is destroyed: it runs before that is.
#pragma once

namespace broadloom::support {

class BeforeEnd { // may be nested
public:
  BeforeEnd() noexcept;
  ~BeforeEnd();
  BeforeEnd(const BeforeEnd &) = delete;
  BeforeEnd &operator=(const BeforeEnd &) = delete;

  explicit operator bool() const { return holds_; } // false: the end has begun

private:
  bool holds_ = false;
};

// Some thread has begun to end the process, or only itself, where it is the main one.
bool end_has_begun();

// Called where LLVM may have made something that the end destroys.
void watch_end();

// In a child of fork, whose only thread is its main one.
void watch_end_in_child();

} // namespace broadloom::support
