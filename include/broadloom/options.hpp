// The choices of `compile`, each with its default.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

namespace broadloom {

enum class Engine {
  automatic,   // native code; else the interpreter, and the reference where that fails, too
  jit,         // native code or CompileError
  interpreter, // the loop IR, one point at a time; needs no LLVM; same bits as native code
  reference,   // from the definition, slow; float folds may differ in the last bits
  // As automatic, but calls that take the interpreter some two milliseconds at most begin there.
  // From the second call on another thread makes the code; without one, that call waits for it.
  tiered,
};
// "auto", "jit", "interpreter", "reference" or "tiered", as `--engine` has it; throws nothing.
std::string_view name(Engine engine);

// A tool that is told of machine code as it is made, so that it shows kernels by name. Several are
// joined by `|`. See docs/profiling.md.
enum class Profile : unsigned {
  none = 0,
  perf = 1,    // a line for each function in /tmp/perf-PID.map, which `perf report` reads
  jitdump = 2, // a dump of the code itself, for `perf inject --jit` and then `perf annotate`
  gdb = 4,     // GDB's interface for run-time compilers
  paths = 8,   // counts how often each way to run a loop is taken, for tests of their coverage
};
constexpr Profile operator|(Profile a, Profile b) { return Profile(unsigned(a) | unsigned(b)); }

// Checks of each call, which are slow: docs/command_line.md, "Checked runs". The outputs are
// written once all of it holds.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" // of g++ 12: `all` is bl::all's name too
enum class Debug : unsigned {
  none = 0,
  interpreter = 1, // native code and the interpreter give the same bits; else InternalError E0901
  reference = 2,   // and the reference is met, where the kernel is small enough; else E0901
  nan = 4,         // no output or array let holds a NaN where no input does; else DataError E0319
  infinity = 8,    // nor an infinity; else DataError E0320
  memory = 16,     // native code runs on copies between pages that nobody may touch
  all = 31,
};
#pragma GCC diagnostic pop
constexpr Debug operator|(Debug a, Debug b) { return Debug(unsigned(a) | unsigned(b)); }
constexpr Debug operator&(Debug a, Debug b) { return Debug(unsigned(a) & unsigned(b)); }

struct Options {
  int threads = 0; // 0: BROADLOOM_THREADS, else min(affinity, cgroup quota, hardware)
                   // and never more than 1024
  std::string target =
      {}; // "": BROADLOOM_TARGET, else this machine; "x86-64-v3", "x86-64-v4", "aarch64"
  // "": this process. "cuda", "cuda:1": the kernel runs on that GPU, and its arrays lie there
  // (device.hpp); "played": on this processor, as a GPU would, for tests
  std::string device = {};
  // The folder in which native code is kept from process to process: the user's own, mode 0700. "":
  // BROADLOOM_CACHE_DIR, else broadloom in the XDG cache folder. Nothing is kept where
  // BROADLOOM_CACHE is 0.
  std::string cache_dir = {};
  Engine engine = Engine::automatic;
  Profile profile = Profile::none; // besides those that BROADLOOM_PROFILE names: perf, jitdump, gdb
  // While this is true, calls of the kernel stop and throw CancelledError E0701, most within some
  // 10 ms. Calls look at it before every phase and every block of one. Work that cannot be cut (a
  // fold in order that keeps no axis, the compiler itself) runs to its end first. The outputs of a
  // cancelled call are unspecified. Any thread, or a signal handler, may set and reset it.
  std::shared_ptr<const std::atomic<bool>> cancel = nullptr;
  Debug debug = Debug::none;
};

// The stages that can be printed of a kernel: see Kernel::show. `folded` is the kernel as it is
// compiled, as text: its scales folded (Scales) where it asks for that, else as `spec`. `call` is
// what a call does around its nests: arrays, and the steps that fill them. `loop` is the nest as it
// is meant. `block` is what runs: how many positions a turn takes, as lanes and copies, and how
// each buffer is loaded and stored.
enum class Stage { spec, folded, axes, graph, call, plan, loop, block, llvm, assembly, why };

// How to print it. Stages that have no such form ignore it.
struct ShowFormat {
  // For Stage::graph: lines of text, Graphviz's language, or one HTML page with the drawing inside.
  enum class Graph { text, dot, html };
  Graph graph = Graph::text;
  bool whole = false; // Stage::assembly: all code, not only the hot loop
  bool json = false;  // Stage::why: as to_json prints it
};

} // namespace broadloom
