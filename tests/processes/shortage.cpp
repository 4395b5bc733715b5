// No threads, no memory that may be run, little address space: the system refuses, by functions of
// its own that are replaced here.
#include "tests/processes/modes.hpp"
#include "tests/processes/process.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

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

namespace broadloom::processes {

#if !defined(BROADLOOM_SANITIZED)
static std::vector<double> sums(int threads) {
  Array x(f64, {many});
  for (std::int64_t k = 0; k < many; ++k) x.data<double>()[k] = double(k % 1000) / 7;
  const Kernel kernel =
      compile(parse("kernel k { in x : f64[i]; out s = sum(exp(x) * x); out r = scan(sum, x, i) }"),
              {.threads = threads});
  const Results results = kernel({{"x", x}});
  std::vector<double> values(results["r"].data<double>(), results["r"].data<double>() + many);
  values.push_back(results["s"].data<double>()[0]);
  return values;
}

static void limit_address_space(int megabytes_more) {
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = rlim_t(pages) * rlim_t(sysconf(_SC_PAGESIZE)) + (rlim_t(megabytes_more) << 20);
  setrlimit(RLIMIT_AS, &limit);
}
#endif

int few_threads(int count) {
#if defined(BROADLOOM_SANITIZED)
  (void)count;
  return std::puts("cannot be tried with this sanitizer"), 0;
#else
  std::string log;
  set_log_sink([&](LogLevel, std::string_view text) { log += std::string(text) + "\n"; });
  threads_left = count;
  bool good = true;
  const std::vector<double> wanted = sums(1);
  for (const int threads : {2, 8, 3}) good = sums(threads) == wanted && good;
  std::printf("%s%s\n", log.c_str(), good ? "the same bits" : "OTHER bits");
  return !good;
#endif
}

// 32 threads, within 340 to 980 MiB of address space more than the program has: from none beside
// its own to six.
int little_space(int count) {
#if defined(BROADLOOM_SANITIZED)
  (void)count;
  return std::puts("cannot be tried with this sanitizer"), 0;
#else
  Tally tally;
  for (int k = 0; k < count; ++k)
    tally.add(in_child([&] {
      int lines = 0;
      set_log_sink([&](LogLevel, std::string_view) { ++lines; });
      limit_address_space(340 + 97 * k % 640);
      const std::vector<double> wanted = sums(1);
      return sums(32) == wanted && lines > 0;
    }));
  return tally.tell();
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
  limit_address_space(megabytes);
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

} // namespace broadloom::processes
