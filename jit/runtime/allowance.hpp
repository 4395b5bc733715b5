// How many threads oneTBB may have.
//
// Problem: where oneTBB cannot make a thread (pids.max, RLIMIT_NPROC, no address space for a stack)
// it ends the process.
// Method: before it is asked for more than before, as many threads are made, held until all are
// there, and let go again. It is told of those that could be made, and makes them at once, before
// anything else takes their place. Where they are fewer, one line of the log says so.
// Example: 8 threads are wanted, a container allows 3 more in all -> 4, the caller among them.
#pragma once

namespace broadloom::jit::runtime {

struct Allowed {
  int threads = 1;      // the caller's among them
  bool are_new = false; // oneTBB has not made some of them
};

// Of an arena for so many threads. Called once for each arena.
Allowed allowed_threads(int wanted);

} // namespace broadloom::jit::runtime
