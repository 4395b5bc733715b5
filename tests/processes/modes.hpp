// The modes of this program, which main.cpp tells of: each prints a line of what it has counted,
// and returns the exit status.
#pragma once

namespace broadloom::processes {

// forks.cpp
int fork_running(int count);
int fork_compiling(int count);
int fork_tiered(int count);
int fork_stateful(int count);
int fork_torn();

// ends.cpp
int many_ends(const char *mode, int count); // processes of their own, which call one of these
[[noreturn]] void end_compiling(int delay); // in microseconds
[[noreturn]] void end_running(int delay);
[[noreturn]] void end_tiered(int delay);
[[noreturn]] void leave_main();

// late_ends.cpp
int many_late_ends(const char *kind, int count); // of each kind where that is ""
[[noreturn]] void end_late(const char *kind, int delay);

// shortage.cpp
int few_threads(int count);
int little_space(int count);
int no_code();
int refuse(int megabytes);

// many_kernels.cpp
int live(int count);
int evict(int count);

// cache_kills.cpp, cache_mutations.cpp, cache_crowd.cpp
int cache_kills(int count);
int cache_mutations(int count);
int cache_crowd(int processes, int kernels, double longest_wait); // in seconds

} // namespace broadloom::processes
