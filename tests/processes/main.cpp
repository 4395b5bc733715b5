// What becomes of kernels where a process forks, ends, is killed, gets no further threads or makes
// very many of them. Each is a process of its own, or many.
//
//   processes fork-running COUNT     children forked while a thread runs a parallel kernel: they
//                                    run it, and make another
//   processes fork-compiling COUNT   children forked while two threads compile: they compile
//   processes fork-tiered COUNT      children forked while code is made beside interpreted calls:
//                                    they come to their own code
//   processes fork-stateful COUNT    children forked while a thread calls a kernel with a state:
//                                    they call it, too
//   processes fork-torn              a child forked while another thread holds what it needs for
//                                    longer than a fork waits
//   processes exit COUNT             processes that end while three threads compile
//   processes exit-tiered COUNT      processes that end while code is made beside interpreted calls
//   processes exit-running COUNT     processes that end while three threads run a parallel kernel
//   processes late COUNT [KIND]      processes whose kernels run in handlers of atexit, destructors
//                                    of globals and after them
//   processes main-leaves            the main thread ends by itself, and another one goes on
//                                    compiling
//   processes no-code                no memory may be made executable: the interpreter runs, with
//                                    the same bits
//   processes refuse MIB             texts of far too many operations are refused within so much
//                                    address space
//   processes threads COUNT          only COUNT threads can be made: the kernel runs on fewer, with
//                                    the same bits
//   processes space COUNT            processes whose kernels want more threads than there is
//                                    address space for
//   processes live COUNT             so many kernels live side by side: how many mappings and KiB
//                                    they take
//   processes evict COUNT            so many kernels are made and dropped: what is left of them
//   processes cache-kills COUNT      processes that are killed while they keep code on disk: what
//                                    others then find there
//   processes cache-mutations COUNT files of the disk cache, changed at random: each is a miss, and
//   made anew processes cache-crowd COUNT KERNELS [SECONDS]
//                                    so many processes make and take these kernels at once: how
//                                    long one waits for the disk and the others, which SECONDS (1)
//                                    are the most of
//
// The last line counts: "20 good, 0 hung, 0 ended by a signal, 0 wrong". The exit status is 1 where
// one is not good.
#include "tests/processes/modes.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace broadloom::processes;

int main(int count, char **words) {
  const std::string mode = count > 1 ? words[1] : "";
  if (mode != "end-late") setenv("BROADLOOM_CACHE", "0", 1);
  const int number = count > 2 ? std::atoi(words[2]) : 20;
  if (mode == "fork-running") return fork_running(number);
  if (mode == "fork-compiling") return fork_compiling(number);
  if (mode == "fork-tiered") return fork_tiered(number);
  if (mode == "fork-stateful") return fork_stateful(number);
  if (mode == "fork-torn") return fork_torn();
  if (mode == "exit") return many_ends("end-compiling", number);
  if (mode == "exit-tiered") return many_ends("end-tiered", number);
  if (mode == "exit-running") return many_ends("end-running", number);
  if (mode == "late") return many_late_ends(count > 3 ? words[3] : "", number);
  if (mode == "main-leaves") return many_ends("leave-main", 1);
  if (mode == "no-code") return no_code();
  if (mode == "refuse") return refuse(count > 2 ? number : 256);
  if (mode == "threads") return few_threads(number);
  if (mode == "space") return little_space(number);
  if (mode == "live") return live(number);
  if (mode == "evict") return evict(number);
  if (mode == "cache-kills") return cache_kills(number);
  if (mode == "cache-mutations") return cache_mutations(number);
  if (mode == "cache-crowd")
    return cache_crowd(number, count > 3 ? std::atoi(words[3]) : 20,
                       count > 4 ? std::atof(words[4]) : 1);
  if (mode == "end-compiling") end_compiling(number);
  if (mode == "end-running") end_running(number);
  if (mode == "end-tiered") end_tiered(number);
  if (mode == "end-late" && count == 4) end_late(words[2], std::atoi(words[3]));
  if (mode == "leave-main") leave_main();
  return std::puts("processes MODE [COUNT]: tests/processes/main.cpp has the modes"), 2;
}
