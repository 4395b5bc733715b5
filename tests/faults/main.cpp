// Makes one allocation fail, at every point of parsing, printing, deriving, compiling, running and
// keeping in a file in turn.
//
// Each point is tried in a process of its own: operator new throws at the nth allocation, and only
// there. Outside LLVM the public function must then throw an Error (E0305, or E0501 where only
// native code cannot be had), and the same objects must do all that was asked of them afterwards.
// Inside LLVM, which is built without exceptions, the process may end; docs/errors.md says so.
//
//   faults limit        little address space is left: no native code then, and native code again
//                       afterwards
//   faults at POINT     this one, in this process, for a debugger
//   faults [POINTS [INSIDE]]
//                       some POINTS outside of LLVM, evenly spread (0: all), and INSIDE, or a tenth
//                       as many
//
// The last line counts the outcomes; the exit status is 1 where one was not as promised.
#include <broadloom/broadloom.hpp>

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

constexpr long most_points = 1 << 20;

// What a child tells its parent.
struct Report {
  long points;
  bool failed, in_llvm;
  char text[200];
  bool inside[most_points]; // of the counting run: is this allocation LLVM's?
};
Report *report = nullptr;

std::atomic<bool> armed = false, marking = false;
std::atomic<long> counted = 0, failing = -1;
thread_local bool looking = false; // at the stack, which may allocate

bool called_by_llvm() {
  looking = true;
  void *frames[64];
  const int depth = backtrace(frames, 64);
  bool found = false;
  for (int k = 0; k < depth && !found; ++k) {
    Dl_info info;
    found = dladdr(frames[k], &info) != 0 && info.dli_fname != nullptr &&
            std::strstr(info.dli_fname, "libLLVM") != nullptr;
  }
  looking = false;
  return found;
}

bool is_to_fail() {
  if (!armed.load(std::memory_order_relaxed) || looking) return false;
  const long point = counted.fetch_add(1);
  if (marking && point < most_points) report->inside[point] = called_by_llvm();
  if (point != failing) return false;
  report->failed = true;
  report->in_llvm = called_by_llvm();
  return true;
}

void *allocate(std::size_t bytes, std::size_t alignment) {
  if (is_to_fail()) return nullptr;
  bytes = std::max<std::size_t>(bytes, 1);
  if (alignment <= 16) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void *allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void *memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

} // namespace

void *operator new(std::size_t n) { return allocate_or_throw(n, 1); }
void *operator new[](std::size_t n) { return allocate_or_throw(n, 1); }
void *operator new(std::size_t n, std::align_val_t a) {
  return allocate_or_throw(n, std::size_t(a));
}
void *operator new[](std::size_t n, std::align_val_t a) {
  return allocate_or_throw(n, std::size_t(a));
}
void *operator new(std::size_t n, const std::nothrow_t &) noexcept { return allocate(n, 1); }
void *operator new[](std::size_t n, const std::nothrow_t &) noexcept { return allocate(n, 1); }
void *operator new(std::size_t n, std::align_val_t a, const std::nothrow_t &) noexcept {
  return allocate(n, std::size_t(a));
}
void operator delete(void *p) noexcept { std::free(p); }
void operator delete[](void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t) noexcept { std::free(p); }
void operator delete(void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void *p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {

const char *const text = R"(
  def twice(a) = a * 2 + exp(a) - exp(a)
  accumulator decay(a; m) { init a = 0; step a = 0.5 * a + m }
  kernel k {
    in x : f64[i, j]
    let y = twice(x) - x
    out p = y / sum(y, j)
    out s = sum(square(y - mean(y, i)))
    out r = scan(decay, y, j)
  })";

// All that is asked for. What is there already is used again, as it was left by a failure.
struct Work {
  Array x = Array(DType::F64, {3, 40});
  std::optional<LoopSpec> spec, derived;
  std::optional<Kernel> kernel, slopes;
  std::vector<std::string> wrt{"x"};
  GradientOptions of_p{.of = {"p"}};
  std::string file = "/tmp/broadloom-faults-" + std::to_string(getpid()) + ".npy";

  Work() {
    for (int k = 0; k < 120; ++k) x.data<double>()[k] = 1 + k % 7;
  }
  ~Work() { unlink(file.c_str()); }

  bool run() {
    if (!spec) spec = parse(text);
    if (print(parse(print(*spec))) != print(*spec)) return false;
    if (!derived) derived = gradient(*spec, wrt, of_p);
    if (!kernel) kernel = compile(*spec, {.threads = 1});
    const Results results = (*kernel)({{"x", x}});
    if (!slopes) slopes = compile(*derived, {.threads = 1});
    const Array d_x = (*slopes)({{"x", x}, {"d_p", results["p"]}})["d_x"].copy();
    const std::string shown = kernel->show(Stage::loop);
    save_npy(file, d_x);
    const Array loaded = load_npy(file);
    if (!std::equal(d_x.data<double>(), d_x.data<double>() + 120, loaded.data<double>()))
      return false;
    double row = 0, moved = 0;
    for (int j = 0; j < 40; ++j) row += results["p"].data<double>()[j];
    for (int j = 0; j < 40; ++j) moved += d_x.data<double>()[j] * x.data<double>()[j];
    const double first = results["r"].data<double>()[1];
    return row > 0.999 && row < 1.001 && moved > -1e-9 && moved < 1e-9 && first == 0.5 * 1 + 2 &&
           shown.size() > 100;
  }
};

enum Outcome { Unreached, Fine, Errors, BadAlloc, Wrong, Stopped, WrongAfter, Died, outcomes };
const char *const names[] = {"not reached", "fine",  "errors",      "bad_alloc",
                             "wrong",       "other", "wrong after", "died"};

// In a process of its own.
[[noreturn]] void try_point(long point) {
  alarm(marking ? 600 : 120); // a lock that was left locked
  Outcome outcome = Wrong;
  const auto tell = [](const char *what) {
    std::snprintf(report->text, sizeof report->text, "%s", what);
  };
  Work work;
  failing = point;
  armed = true;
  try {
    if (work.run()) outcome = Fine;
  } catch (const Error &error) {
    armed = false;
    tell(error.what());
    outcome = error.code() == "E0305" || error.code() == "E0501" ? Errors : Stopped;
  } catch (const std::bad_alloc &) {
    outcome = BadAlloc;
  } catch (const std::exception &error) {
    armed = false;
    tell(error.what());
    outcome = Stopped;
  }
  armed = false;
  report->points = counted;
  if (!report->failed) {
    unlink(work.file.c_str());
    _exit(outcome == Fine ? Unreached : Wrong);
  }
  try {
    if (!work.run()) outcome = WrongAfter;
  } catch (const std::exception &error) {
    tell(error.what());
    outcome = WrongAfter;
  }
  unlink(work.file.c_str());
  _exit(outcome);
}

Outcome outcome_of(long point) {
  report->failed = report->in_llvm = false;
  report->text[0] = 0;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) try_point(point);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) {
    std::snprintf(report->text, sizeof report->text, "signal %d", WTERMSIG(status));
    return Died;
  }
  return Outcome(WEXITSTATUS(status));
}

// Bytes of address space that this process has.
std::size_t address_space() {
  std::size_t pages = 0;
  if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%zu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * std::size_t(sysconf(_SC_PAGESIZE));
}

bool holds(const char *what, bool promised) {
  std::printf("%s: %s\n", what, promised ? "yes" : "NO");
  return promised;
}

int try_little_memory() {
  if (address_space() > std::size_t{1}
                            << 40) // the shadow memory of a sanitizer: no limit tells what is left
    return std::puts("cannot be tried: the address space is full of shadow memory"), 0;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const rlim_t before = limit.rlim_cur;
  Work work;
  const Array x(DType::F64, {10});
  const LoopSpec spec = parse("kernel k { in x : f64[i]; out y = exp(x) }");
  const auto code = [&](Engine engine) -> std::string {
    try {
      return compile(spec, {.threads = 1, .engine = engine})({{"x", x}})["y"].data<double>()[9] == 1
                 ? ""
                 : "wrong";
    } catch (const Error &error) {
      return error.code();
    }
  };
  limit.rlim_cur = address_space() + (24 << 20);
  setrlimit(RLIMIT_AS, &limit);
  bool good = holds("without memory there is no native code (E0501)", code(Engine::jit) == "E0501");
  good &= holds("the interpreter takes over", work.run() && work.kernel->counters().compiles == 0);
  limit.rlim_cur = before;
  setrlimit(RLIMIT_AS, &limit);
  good &= holds("with memory there is native code again", code(Engine::jit).empty());
  return good ? 0 : 1;
}

} // namespace

int main(int count, char **words) {
  if (count > 1 && std::strcmp(words[1], "limit") == 0) return try_little_memory();
  void *shared =
      mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  report = static_cast<Report *>(shared);
  void *frame;
  backtrace(&frame, 1); // loads what it needs
  if (count > 2 && std::strcmp(words[1], "at") == 0) try_point(std::atol(words[2]));
  freopen("/dev/null", "w", stderr);

  marking = true;
  if (outcome_of(-1) != Unreached) return std::puts("the work fails by itself"), 1;
  marking = false;
  std::vector<long> outside, inside;
  for (long k = 0; k < std::min(report->points, most_points); ++k)
    (report->inside[k] ? inside : outside).push_back(k);
  const std::size_t wanted = count > 1 ? std::strtoul(words[1], nullptr, 10) : 0;
  std::printf("%zu allocations outside LLVM, %zu inside\n", outside.size(), inside.size());

  int broken = 0;
  for (const auto &[points, where] :
       {std::pair(&outside, "outside"), std::pair(&inside, "inside")}) {
    const std::size_t share = points == &outside ? wanted
                              : count > 2        ? std::strtoul(words[2], nullptr, 10)
                                                 : std::max<std::size_t>(wanted / 10, 1);
    const std::size_t step =
        wanted == 0 ? 1
                    : std::max<std::size_t>(points->size() / std::max<std::size_t>(share, 1), 1);
    int tally[outcomes] = {};
    for (std::size_t k = 0; k < points->size(); k += step) {
      const Outcome outcome = outcome_of((*points)[k]);
      ++tally[outcome];
      // Caches that were filled may move a point to its neighbour, so that where it was counts.
      const bool promised = outcome == Unreached || outcome == Fine || outcome == Errors;
      if (promised) continue;
      std::printf("%s %ld%s: %s %s\n", where, (*points)[k], report->in_llvm ? " (LLVM)" : "",
                  names[outcome], report->text);
      broken += !report->in_llvm;
    }
    std::printf("%s LLVM:", where);
    for (int k = 0; k < outcomes; ++k)
      std::printf(" %d %s%s", tally[k], names[k], k + 1 < outcomes ? "," : "\n");
  }
  return broken > 0;
}
