// Ctrl-C while a kernel runs.
//
// Problem: Python's own handler only notes the signal, and the main thread looks at the note
// between instructions of Python, of which there are none while a kernel runs.
// Method: a call of the main thread that may take long puts a handler before Python's, which sets
// the flag that Options::cancel looks at. Other threads cannot be interrupted, as in all of Python.
#pragma once

#include <atomic>
#include <csignal>

namespace broadloom::python {

bool is_main_thread();

// To be called once, by the main thread.
void note_main_thread();

// While it lives SIGINT sets the flag, then does what it did before. In any other thread than the
// main one, and where the process ignores the signal or ends by it, nothing is changed.
class Interruptible {
public:
  explicit Interruptible(std::atomic<bool> &flag);
  ~Interruptible();
  Interruptible(const Interruptible &) = delete;
  Interruptible &operator=(const Interruptible &) = delete;

private:
  bool active_ = false;
  struct sigaction before_ = {};
};

} // namespace broadloom::python
