// See calibrate.hpp.
#include "jit/show/calibrate.hpp"

#include "jit/cache/disk.hpp"
#include "jit/runtime/machine.hpp"
#include "jit/runtime/threads.hpp"
#include "plan/predict.hpp"
#include "support/log.hpp"
#include "support/undivided.hpp"

#include <broadloom/kernel.hpp>

#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <mutex>

namespace broadloom::jit {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// The median of calls for some 1 ms, in batches that the clock can tell apart.
double ns_of(const std::function<void()> &call) {
  constexpr double in_all = 1e6, batch_ns = 2e4;
  call();
  const auto first = Clock::now();
  call();
  const int batch = int(std::clamp(batch_ns / std::max(since(first), 1.0), 1.0, 1e4));
  std::vector<double> ns;
  const auto begin = Clock::now();
  while (ns.size() < 3 || (since(begin) < in_all && ns.size() < 64)) {
    const auto start = Clock::now();
    for (int k = 0; k < batch; ++k) call();
    ns.push_back(since(start) / batch);
  }
  std::ranges::nth_element(ns, ns.begin() + std::ptrdiff_t(ns.size() / 2));
  return ns[ns.size() / 2];
}

// Takes these bytes out of all caches, where the processor can; whether it did.
#if defined(__x86_64__)
__attribute__((target("clflushopt"))) void flush_lines(char *first, std::int64_t bytes) {
  constexpr std::int64_t line = 64;
  for (std::int64_t k = 0; k < bytes; k += line) _mm_clflushopt(first + k);
  _mm_sfence();
}
bool can_flush() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 23 & 1) != 0;
}
#else
void flush_lines(char *, std::int64_t) {}
bool can_flush() { return false; }
#endif

// The less of two calls that find nothing of these bytes in the caches.
double cold_ns_of(const std::function<void()> &call, char *first, std::int64_t bytes) {
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 2; ++k) {
    flush_lines(first, bytes);
    const auto start = Clock::now();
    call();
    least = std::min(least, since(start));
  }
  return least;
}

class Calibration {
public:
  Calibration(const Target &target, int threads, const std::string &folder) : threads_(threads) {
    options_.target = target.isa->name;
    options_.cache_dir = folder;
    rates_.vector_bits = target.vector_bits();
    // Memory that has been written to: pages never touched would all be one and the same.
    const auto elements = std::int64_t(support::Rates::sizes.back()) / 4;
    memory_ = Array(f32, {elements});
    std::fill_n(memory_.data<float>(), elements, 0.5f);
  }

  support::Rates run() {
    measure_overheads();
    measure_operations();
    measure_memory();
    return rates_;
  }

private:
  Kernel kernel(const char *text, int threads) const {
    Options options = options_;
    options.threads = threads;
    return compile(parse(text), options);
  }

  AnyView part(std::int64_t first, std::int64_t count) const {
    return View<float>(memory_.data<float>() + first, {count});
  }

  double map_ns(const Kernel &map, std::int64_t count) const {
    return ns_of_call(map.bind({part(0, count)}, {part(count, count)}), 8 * double(count));
  }

  // Operands of some ten MB are seldom found in the caches of a program that does other things,
  // too, between two calls: the last level is shared with all that runs on the machine.
  double ns_of_call(const std::function<void()> &call, double bytes) const {
    constexpr double cold_bytes = 12 << 20;
    if (bytes < cold_bytes || !can_flush()) return ns_of(call);
    return cold_ns_of(call, static_cast<char *>(memory_.raw()), std::int64_t(bytes));
  }

  void measure_overheads() {
    rates_.call_ns = std::max(1.0, map_ns(kernel(copy, 1), 16));
    if (threads_ == 1) {
      rates_.share_ns = 1;
      return;
    }
    runtime::Grid grid;
    grid.lo = {0};
    grid.hi = {2 * threads_};
    grid.step = {1};
    grid.count = {2 * threads_};
    grid.blocks = 2 * threads_;
    const loop::Frame frame;
    const auto nothing = [](const loop::Frame *, const std::int64_t *, const std::int64_t *) {};
    rates_.share_ns = std::max(
        1.0,
        ns_of([&] { runtime::run_phase(runtime::workers(threads_), grid, nothing, frame, {}); }));
  }

  // Operands of 8 KiB, with 16 simple operations, some divisions, or functions, between a load and
  // a store.
  void measure_operations() {
    constexpr std::int64_t count = 2048;
    const double vectors = double(count) * 32 / rates_.vector_bits;
    const auto ns = [&](const char *text) {
      return std::max(1.0, map_ns(kernel(text, 1), count) - rates_.call_ns) / vectors;
    };
    // Behind each text the sum of its costs in the table of operations, of the kind in question.
    rates_.simple_ns =
        ns("kernel simple { in x : f32[:]\n"
           "let a = x * 0.5 + 1; let b = a * x + 0.25; let c = b * a + x; let d = c * b + 0.5\n"
           "let e = d * x + a; let f = e * 0.5 + b; let g = f * x + c; out z = g * d + e }") /
        (16 + 2);
    const double moved = 2 * rates_.simple_ns;
    rates_.division_ns =
        std::max(1e-3, ns("kernel division { in x : f32[:]; out z = 1 / (2 + 1 / (x + 1)) }") -
                           moved - 2 * rates_.simple_ns) /
        16;
    rates_.function_ns =
        std::max(1e-3, ns("kernel functions { in x : f32[:]; out z = exp(x) + sin(x) + log(x) + "
                          "tanh(x) }") -
                           moved - 3 * rates_.simple_ns) /
        (plan::function_cost(ops::Op::Exp, f32) + plan::function_cost(ops::Op::Sin, f32) +
         plan::function_cost(ops::Op::Log, f32) + plan::function_cost(ops::Op::Tanh, f32));
  }

  void measure_memory() {
    constexpr double few_bytes = 256 << 10; // no loop over so few is shared out
    for (std::size_t k = 0; k < rates_.levels.size(); ++k) {
      support::Rates::Level &level = rates_.levels[k];
      level.bytes = support::Rates::sizes[k];
      std::tie(level.read_one, level.write_one) = rates(level.bytes, 1);
      std::tie(level.read_all, level.write_all) = threads_ > 1 && level.bytes > few_bytes
                                                      ? rates(level.bytes, threads_)
                                                      : std::pair(level.read_one, level.write_one);
    }
  }

  // Bytes for a ns, read and written: what a copy takes longer than reading is the writing.
  std::pair<double, double> rates(double bytes, int threads) const {
    const auto count = std::int64_t(bytes) / 4;
    const Kernel fold = kernel(sum, threads), map = kernel(copy, threads);
    const Array one(f64, {});
    const View<const double> read(reinterpret_cast<const double *>(memory_.data<float>()),
                                  {count / 2});
    const double read_ns =
        std::max(1.0, ns_of_call(fold.bind({read}, {AnyView(one)}), bytes) - rates_.call_ns);
    const double copy_ns = std::max(1.0, map_ns(map, count / 2) - rates_.call_ns);
    return {bytes / read_ns, bytes / 2 / std::max(copy_ns - read_ns / 2, copy_ns / 4)};
  }

  static constexpr const char *copy = "kernel copy { in x : f32[:]; out z = x * 1.5 }";
  static constexpr const char *sum =
      "kernel sum { in x : f64[:]; out z = sum(x) }"; // an addition for each load

  Options options_;
  int threads_;
  Array memory_;
  support::Rates rates_;
};

std::string key_of(const Target &target, int threads) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const runtime::Caches caches = runtime::caches();
  return "rates, cold\n" + std::string(host) + "\n" + target.cpu + "\n" +
         std::string(target.isa->name) + "\n" + std::to_string(threads) + "\n" +
         std::to_string(caches.own) + "\n" + std::to_string(caches.last_level) + "\n" +
         std::to_string(caches.kept_output);
}

} // namespace

support::Rates rates_here(const Target &target, int threads, const std::string &folder) {
  static constinit support::Mutex mutex;
  const std::string key = key_of(target, threads);
  const std::lock_guard lock(mutex);
  static auto &known = *new std::map<std::string, support::Rates>;
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const std::optional<DiskCache> cache = DiskCache::open(folder);
  if (const auto text = cache ? cache->load(key) : std::nullopt)
    if (const auto rates = support::rates_of(*text)) return known[key] = *rates;
  const auto start = Clock::now();
  const support::Rates rates = Calibration(target, threads, folder).run();
  support::log().debug("measured this machine in {:.0f} ms", since(start) * 1e-6);
  if (cache)
    cache->store(key, "rates of this machine for " + std::string(target.isa->name),
                 support::to_text(rates));
  return known[key] = rates;
}

} // namespace broadloom::jit
