// What becomes of kernels where a process forks, ends, or gets no further threads. Each is a process of its own, or many.
//
//   processes fork-running COUNT     children forked while a thread runs a parallel kernel: they run it, and make another
//   processes fork-compiling COUNT   children forked while two threads compile: they compile
//   processes fork-stateful COUNT    children forked while a thread calls a kernel with a state: they call it, too
//   processes fork-torn              a child forked while another thread holds what it needs for longer than a fork waits
//   processes exit COUNT             processes that end while three threads compile
//   processes exit-running COUNT     processes that end while three threads run a parallel kernel
//   processes late                   compiles in an atexit handler and in the destructor of a global
//   processes live COUNT            so many kernels live side by side: how many mappings and KiB they take
//   processes main-leaves            the main thread ends by itself, and another one goes on compiling
//   processes no-code                no memory may be made executable: the interpreter runs, with the same bits
//   processes refuse MIB             texts of far too many operations are refused within so much address space
//   processes threads COUNT          only COUNT threads can be made: the kernel runs on fewer, with the same bits
//
// The last line counts: "20 good, 0 hung, 0 ended by a signal, 0 wrong". The exit status is 1 where one is not good.
#include <broadloom/broadloom.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace broadloom;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define BROADLOOM_SANITIZED
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define BROADLOOM_SANITIZED
#endif

#if defined(BROADLOOM_SANITIZED)
// Threads are cut off where they stand, the main one among them: what they held then is no leak.
extern "C" int __lsan_is_turned_off() { return 1; }
#endif

#if !defined(BROADLOOM_SANITIZED) // whose runtimes have one of their own
static std::atomic<int> threads_left{INT_MAX};

extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*start)(void *), void *argument) {
  using Create = int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  static const Create create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  struct Begun {
    void *(*start)(void *);
    void *argument;
  };
  if (threads_left.fetch_sub(1) <= 0) {
    threads_left.fetch_add(1);
    return EAGAIN;
  }
  const auto run = [](void *begun_argument) -> void * { // a thread that ends leaves its place
    const Begun begun = *static_cast<Begun *>(begun_argument);
    delete static_cast<Begun *>(begun_argument);
    void *result = begun.start(begun.argument);
    threads_left.fetch_add(1);
    return result;
  };
  auto *begun = new Begun{start, argument};
  const int error = create(thread, attributes, run, begun);
  if (error != 0) {
    delete begun;
    threads_left.fetch_add(1);
  }
  return error;
}
#endif

static std::atomic<bool> code_is_allowed{true};

extern "C" int mprotect(void *address, std::size_t bytes, int protection) noexcept {
  using Protect = int (*)(void *, std::size_t, int);
  static const Protect protect = reinterpret_cast<Protect>(dlsym(RTLD_NEXT, "mprotect"));
  if (code_is_allowed || (protection & PROT_EXEC) == 0) return protect(address, bytes, protection);
  errno = EACCES; // as a policy of the system gives it
  return -1;
}

namespace {

constexpr std::int64_t many = 1 << 19;
constexpr unsigned patience = 40; // seconds until a child counts as hung

struct Tally {
  int good = 0, hung = 0, ended = 0, wrong = 0;

  void add(int status) {
    if (WIFEXITED(status))
      ++(WEXITSTATUS(status) == 0 ? good : wrong);
    else
      ++(WTERMSIG(status) == SIGALRM ? hung : ended);
  }
  int tell() const {
    std::printf("%d good, %d hung, %d ended by a signal, %d wrong\n", good, hung, ended, wrong);
    return hung + ended + wrong > 0;
  }
};

int in_child(const std::function<bool()> &work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(patience);
    bool good = false;
    try {
      good = work();
    } catch (const std::exception &error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

Kernel kernel_with(const std::string &number) {
  return compile(parse("kernel k { in x : f64[i]; out y = exp(x) + " + number + " }"),
                 {.threads = 2});
}
bool is_right(const Kernel &kernel, std::int64_t size, double wanted) {
  const Array x(f64, {size}), y(f64, {size});
  kernel.run({x}, {y});
  const double *values = y.data<double>();
  return values[0] == wanted && values[size - 1] == wanted;
}

int fork_running(int count) {
  const Kernel kernel = kernel_with("1");
  std::atomic<bool> stop{false};
  std::thread runs([&] {
    while (!stop) is_right(kernel, many, 2);
  });
  Tally tally;
  for (int k = 0; k < count; ++k) {
    usleep(useconds_t(500 + 777 * k % 5000));
    tally.add(in_child([&] {
      return is_right(kernel, many, 2) && is_right(kernel_with(std::to_string(k)), many, k + 1);
    }));
  }
  stop = true;
  runs.join();
  return tally.tell();
}

void compile_for_ever(int thread, const std::atomic<bool> &stop) {
  for (int k = 0; !stop; ++k)
    is_right(kernel_with(std::to_string(k) + "." + std::to_string(thread)), 100, 0);
}

int fork_compiling(int count) {
  std::atomic<bool> stop{false};
  std::thread first([&] { compile_for_ever(1, stop); }), second([&] { compile_for_ever(2, stop); });
  Tally tally;
  for (int k = 0; k < count; ++k) {
    usleep(useconds_t(500 + 777 * k % 5000));
    tally.add(in_child([&] { return is_right(kernel_with(std::to_string(k)), many, k + 1); }));
  }
  stop = true;
  first.join();
  second.join();
  return tally.tell();
}

int fork_stateful(int count) {
  StatefulKernel kernel(
      parse("kernel k { in x : f64[i]; state s : f64[524288]; update s = s * 0.5 + exp(x) }"),
      {.threads = 2});
  const Array x(f64, {many});
  std::atomic<bool> stop{false};
  std::thread runs([&] {
    while (!stop) kernel({{"x", x}});
  });
  Tally tally;
  for (int k = 0; k < count; ++k) {
    usleep(useconds_t(500 + 777 * k % 5000));
    tally.add(in_child([&] {
      const double before = kernel.get("s").data<double>()[0];
      kernel({{"x", x}});
      const Array after = kernel.get("s");
      for (std::int64_t i = 0; i < many; i += many / 16)
        if (after.data<double>()[i] != before * 0.5 + 1) return false;
      return true;
    }));
  }
  stop = true;
  runs.join();
  return tally.tell();
}

// That there is no such folder is said in the middle of a compilation, and by a sink that never returns.
int fork_torn() {
  const Kernel kernel = kernel_with("1");
  if (!is_right(kernel, many, 2)) return 1;
  std::atomic<bool> says{false};
  set_log_sink([&](LogLevel, std::string_view) {
    says = true;
    for (;;) pause();
  });
  std::thread([] {
    unsetenv("BROADLOOM_CACHE");
    const LoopSpec spec = parse("kernel k { in x : f64[i]; out y = x + 0.25 }");
    is_right(compile(spec, {.threads = 1, .cache_dir = "/dev/null/no/folder"}), 100, 0.25);
  }).detach();
  while (!says) usleep(1000);
  Tally tally;
  tally.add(
      in_child([&] { return is_right(kernel, many, 2) && is_right(kernel_with("5"), many, 6); }));
  const int failed = tally.tell();
  std::fflush(stdout);
  _exit(failed); // the end of the process would wait, too
}

// In a process of its own: what is made before main must not be inherited.
int run_again(const char *mode, int delay) {
  const std::string number = std::to_string(delay);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(patience);
    execl("/proc/self/exe", "processes", mode, number.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

int many_ends(const char *mode, int count) {
  Tally tally;
  for (int k = 0; k < count; ++k) tally.add(run_again(mode, 977 * k % 60'000));
  return tally.tell();
}

[[noreturn]] void end_compiling(int delay) {
  static std::atomic<bool> never{false};
  for (int k = 0; k < 3; ++k) std::thread([k] { compile_for_ever(k, never); }).detach();
  usleep(useconds_t(delay));
  std::exit(0);
}

[[noreturn]] void end_running(int delay) {
  static const Kernel &kernel = *new Kernel(kernel_with("1"));
  for (int k = 0; k < 3; ++k)
    std::thread([] {
      for (;;) is_right(kernel, many, 2);
    }).detach();
  usleep(useconds_t(delay));
  std::exit(0);
}

bool is_late = false;
void compile_late(const char *number, double wanted) {
  if (!is_right(kernel_with(number), many, wanted)) _exit(1);
}
const struct Late {
  ~Late() {
    if (is_late) compile_late("2", 3);
  }
} late;

[[noreturn]] void end_late() {
  is_late = true;
  std::atexit([] { compile_late("3", 4); });
  compile_late("4", 5);
  std::atexit([] { compile_late("5", 6); });
  std::exit(0);
}

[[noreturn]] void leave_main() {
  compile_late("1", 2);
  std::thread([] {
    usleep(20'000); // until main is gone
    bool good = true;
    for (int k = 0; k < 3; ++k) {
      const Kernel kernel = kernel_with(std::to_string(k) + ".5");
      good = is_right(kernel, many, k + 1.5) && kernel.engine() == Engine::jit && good;
    }
    std::exit(good ? 0 : 1);
  }).detach();
  pthread_exit(nullptr);
}

int few_threads(int count) {
#if defined(BROADLOOM_SANITIZED)
  (void)count;
  return std::puts("cannot be tried with this sanitizer"), 0;
#else
  std::string log;
  set_log_sink([&](LogLevel, std::string_view text) { log += std::string(text) + "\n"; });
  Array x(f64, {many});
  for (std::int64_t k = 0; k < many; ++k) x.data<double>()[k] = double(k % 1000) / 7;
  const auto sums = [&](int threads) {
    const Kernel kernel = compile(
        parse("kernel k { in x : f64[i]; out s = sum(exp(x) * x); out r = scan(sum, x, i) }"),
        {.threads = threads});
    const Results results = kernel({{"x", x}});
    std::vector<double> values(results["r"].data<double>(), results["r"].data<double>() + many);
    values.push_back(results["s"].data<double>()[0]);
    return values;
  };
  threads_left = count;
  bool good = true;
  const std::vector<double> wanted = sums(1);
  for (const int threads : {2, 8, 3}) good = sums(threads) == wanted && good;
  std::printf("%s%s\n", log.c_str(), good ? "the same bits" : "OTHER bits");
  return !good;
#endif
}

int no_code() {
  std::string log;
  set_log_sink([&](LogLevel, std::string_view text) { log += std::string(text) + "\n"; });
  code_is_allowed = false;
  const Kernel kernel = kernel_with("1");
  bool good = is_right(kernel, many, 2) && is_right(kernel, many, 2);
  good = good && kernel.engine() == Engine::interpreter;
  code_is_allowed = true;
  const Kernel other = kernel_with("2");
  good = good && is_right(other, many, 3) && other.engine() == Engine::jit;
  std::printf("%s%s\n", log.c_str(), good ? "as promised" : "NOT as promised");
  return !good;
}

int live(int count) {
  const auto mappings = [] {
    std::ifstream file("/proc/self/maps");
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  };
  const auto kilobytes = [] {
    std::ifstream file("/proc/self/statm");
    long pages = 0, resident = 0;
    file >> pages >> resident;
    return resident * 4;
  };
  std::vector<Kernel> kernels;
  int before = 0;
  long before_kilobytes = 0;
  for (int k = 0; k < count; ++k) {
    if (k == 10) before = mappings(), before_kilobytes = kilobytes();
    kernels.push_back(kernel_with(std::to_string(k)));
    if (!is_right(kernels.back(), 100, k + 1) || kernels.back().engine() != Engine::jit) return 1;
  }
  const int more = mappings() - before;
  std::printf("%d kernels: %d more mappings, %.1f KiB each\n", count, more,
              double(kilobytes() - before_kilobytes) / std::max(1, count - 10));
  return more > 256;
}

// Texts of 10^6 operations and more, within so much address space beyond what the program has.
int refuse(int megabytes) {
#if defined(BROADLOOM_SANITIZED)
  (void)megabytes;
  return std::puts("cannot be tried with this sanitizer"), 0;
#else
  const auto repeat = [](const std::string &part, int times) {
    std::string text;
    text.reserve(part.size() * std::size_t(times));
    for (int k = 0; k < times; ++k) text += part;
    return text;
  };
  const int million = 1'000'000;
  const std::string begin = "kernel k { in x : f32[i]; out y = ";
  const std::vector<std::string> texts{
      begin + "x" + repeat(" + x", million) + " }",
      begin + repeat("(0.5 - ", million) + "x" + repeat(")", million) + " }",
      begin + repeat("abs(", 2 * million) + "x" + repeat(")", 2 * million) + " }",
      begin + repeat("-", 2 * million) + "x }"};
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = rlim_t(pages) * rlim_t(sysconf(_SC_PAGESIZE)) + (rlim_t(megabytes) << 20);
  setrlimit(RLIMIT_AS, &limit);
  int refused = 0;
  for (const std::string &text : texts) try {
      parse(text);
    } catch (const Error &error) {
      if (error.code() == "E0013")
        ++refused;
      else
        std::puts(error.what());
    }
  std::printf("%d of %d refused within %d MiB\n", refused, int(texts.size()), megabytes);
  return refused != int(texts.size());
#endif
}

} // namespace

int main(int count, char **words) {
  setenv("BROADLOOM_CACHE", "0", 1);
  const std::string mode = count > 1 ? words[1] : "";
  const int number = count > 2 ? std::atoi(words[2]) : 20;
  if (mode == "fork-running") return fork_running(number);
  if (mode == "fork-compiling") return fork_compiling(number);
  if (mode == "fork-stateful") return fork_stateful(number);
  if (mode == "fork-torn") return fork_torn();
  if (mode == "exit") return many_ends("end-compiling", number);
  if (mode == "exit-running") return many_ends("end-running", number);
  if (mode == "late") return many_ends("end-late", 1);
  if (mode == "no-code") return no_code();
  if (mode == "live") return live(number);
  if (mode == "refuse") return refuse(count > 2 ? number : 256);
  if (mode == "threads") return few_threads(number);
  if (mode == "end-compiling") end_compiling(number);
  if (mode == "end-running") end_running(number);
  if (mode == "main-leaves") return many_ends("leave-main", 1);
  if (mode == "end-late") end_late();
  if (mode == "leave-main") leave_main();
  return std::puts("processes MODE [COUNT]: tests/processes/main.cpp has the modes"), 2;
}
