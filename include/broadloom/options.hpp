// The choices of `compile`, each with its default.
#pragma once

#include <atomic>
#include <memory>
#include <string>

namespace broadloom {

enum class Engine {
  Auto, // native code; the interpreter where it cannot be had; the reference where that fails, too
  Jit,  // native code or CompileError
  Interpreter, // the loop IR, one point at a time; needs no LLVM; same bits as native code
  Reference,   // from the definition, slow; float folds may differ in the last bits
};

// A tool that is told of machine code as it is made, so that it shows kernels by name. Several are joined
// by `|`. See docs/profiling.md.
enum class Profile : unsigned {
  None = 0,
  Perf = 1,    // a line for each function in /tmp/perf-PID.map, which `perf report` reads
  Jitdump = 2, // a dump of the code itself, for `perf inject --jit` and then `perf annotate`
  Gdb = 4,     // GDB's interface for run-time compilers
  Paths = 8,   // counts how often each way to run a loop is taken, for tests of their coverage
};
constexpr Profile operator|(Profile a, Profile b) { return Profile(unsigned(a) | unsigned(b)); }

struct Options {
  int threads = 0;         // 0: BROADLOOM_THREADS, else min(affinity, cgroup quota, hardware)
                           // and never more than 1024
  std::string target = {}; // "": BROADLOOM_TARGET, else this machine; "x86-64-v3" or "x86-64-v4"
  std::string cache_dir =
      {}; // where native code is kept from process to process: a folder of the user's own, mode 0700.
          // "": BROADLOOM_CACHE_DIR, else broadloom in the XDG cache folder. Nothing is kept
          // where BROADLOOM_CACHE is 0
  Engine engine = Engine::Auto;
  Profile profile = Profile::None; // besides those that BROADLOOM_PROFILE names: perf, jitdump, gdb
  // While this is true, calls of the kernel stop and throw CancelledError E0701, most within some
  // 10 ms: it is looked at before every phase and every block of one. Work that cannot be cut (a fold
  // in order that keeps no axis, the compiler itself) runs to its end first. What the outputs of a
  // cancelled call hold is unspecified. Any thread, or a signal handler, may set and reset it.
  std::shared_ptr<const std::atomic<bool>> cancel = nullptr;
};

// What to print of a kernel: see Kernel::show.
// Loop is the nest as it is meant, Block what runs: how many positions a turn takes, as lanes and copies, and how each buffer is
// loaded and stored.
enum class Stage { Spec, Axes, Graph, Plan, Loop, Block, Llvm, Asm, Why };

// How to print it. Stages that have no such form ignore it.
struct ShowFormat {
  // Of Stage::Graph: lines of text, Graphviz's language, or one HTML page with the drawing inside.
  enum class Graph { Text, Dot, Html };
  Graph graph = Graph::Text;
  bool whole = false; // Stage::Asm: all code, not only the hot loop
  bool json = false;  // Stage::Why: as to_json prints it
};

} // namespace broadloom
