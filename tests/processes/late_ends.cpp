// Processes whose kernels run while they end: in handlers of atexit, in destructors of globals,
// after all of them, and on threads that go on compiling. Each has no disk cache, an empty one, or
// one with the code of its first kernel, in turn.
#include "tests/processes/cache_folder.hpp"
#include "tests/processes/modes.hpp"
#include "tests/processes/process.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace broadloom::processes {
namespace {

// What a process does; `ends` names one of these.
struct Kind {
  const char *first; // where its first kernel runs: main, thread, or nowhere before the end
  // Where a kernel runs as it ends: handler, early-handler, global, last, pool, or nowhere.
  const char *late;
  const char *by = "main";   // who ends it: main, a thread, quick_exit, or main by pthread_exit
  bool is_compiling = false; // on three other threads
};
const std::map<std::string, Kind> kinds{
    {"handler", {"", "handler"}},
    {"global", {"", "global"}},
    {"last", {"", "last"}},
    {"pool", {"", "pool"}},
    {"main-handler", {"main", "handler"}},
    {"main-early-handler", {"main", "early-handler"}},
    {"main-global", {"main", "global"}},
    {"main-last", {"main", "last"}},
    {"main-pool", {"main", "pool"}},
    {"thread-ends-handler", {"", "handler", "thread"}},
    {"thread-ends-global", {"", "global", "thread"}},
    {"thread-ends-last", {"", "last", "thread"}},
    {"thread-ends-main-early-handler", {"main", "early-handler", "thread"}},
    {"thread-ends-main-global", {"main", "global", "thread"}},
    {"compiling-handler", {"", "handler", "main", true}},
    {"compiling-global", {"main", "global", "main", true}},
    {"compiling-thread-ends", {"", "handler", "thread", true}},
    {"compiling-main-thread-ends", {"main", "global", "thread", true}},
    {"quick", {"", "handler", "quick"}},
    {"compiling-quick", {"main", "handler", "quick", true}},
};

Kind chosen; // a copy: what runs last reads it when the table is gone
const Kind *kind = nullptr;
bool is_late_in(const char *place) { return kind != nullptr && kind->late == std::string(place); }

void run_kernel(const char *number, double wanted, std::int64_t size = 100) {
  if (!is_right(kernel_with(number), size, wanted)) _exit(1);
}

// Constructed before main, and so destroyed after what main has registered.
const struct Global {
  ~Global() {
    if (is_late_in("global")) run_kernel("2", 3);
    if (is_late_in("pool")) std::thread([] { run_kernel("2", 3); }).join();
  }
} global;

__attribute__((destructor)) void run_last() {
  if (is_late_in("last")) run_kernel("2", 3);
}

[[noreturn]] void finish() {
  if (kind->by == std::string("quick")) std::quick_exit(0);
  if (kind->by == std::string("main")) std::exit(0);
  // LLVM is loaded then: whatever thread calls exit while a library is loaded destroys what that
  // makes.
  std::thread([] {
    if (kind->is_compiling) run_kernel("7", 8);
    std::exit(0);
  }).detach();
  for (;;) pause();
}

} // namespace

void end_late(const char *name, int delay) {
  chosen = kinds.at(name);
  kind = &chosen;
  set_log_level(LogLevel::error); // that the interpreter runs is a warning
  const auto run_late = [] { run_kernel("2", 3); };
  const auto add_handler = kind->by == std::string("quick") ? std::at_quick_exit : std::atexit;
  if (is_late_in("early-handler")) add_handler(run_late);
  if (kind->first == std::string("main")) run_kernel("1", 2, many);
  if (is_late_in("handler")) add_handler(run_late);
  if (kind->is_compiling) {
    static std::atomic<bool> never{false};
    for (int k = 0; k < 3; ++k) std::thread([k] { compile_for_ever(k, never); }).detach();
    usleep(useconds_t(delay));
  }
  finish();
}

int many_late_ends(const char *only, int count) {
  bool failed = false;
  for (const auto &[name, about] : kinds) {
    if (*only != '\0' && name != only) continue;
    const CacheFolder empty, filled;
    setenv("BROADLOOM_CACHE_DIR", filled.path().c_str(), 1);
    run_kernel("1", 2, many);
    const std::vector<std::filesystem::path> kept = filled.entries();
    Tally tally;
    for (int k = 0; k < count; ++k) {
      empty.remove_entries();
      for (const std::filesystem::path &entry : filled.entries())
        if (std::ranges::find(kept, entry) == kept.end()) std::filesystem::remove(entry);
      setenv("BROADLOOM_CACHE", k % 3 == 0 ? "0" : "1", 1);
      setenv("BROADLOOM_CACHE_DIR", (k % 3 == 1 ? empty : filled).path().c_str(), 1);
      tally.add(run_again({"end-late", name, std::to_string(delay_of(k))}));
    }
    std::printf("late %s: ", name.c_str());
    failed = tally.tell() > 0 || failed;
  }
  return failed;
}

} // namespace broadloom::processes
