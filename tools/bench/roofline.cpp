// See roofline.hpp.
#include "bench/roofline.hpp"

#include "bench/loops.hpp"
#include "bench/paired.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace bench {

Mix mix_for(std::int64_t read_bytes, std::int64_t write_bytes) {
  const double total = double(read_bytes + write_bytes);
  Mix mix;
  if (write_bytes * 8 < read_bytes) { // so little that it hides behind the reads
    mix.reads = 1;
    mix.elements = read_bytes / 4;
  } else {
    mix.writes = true;
    mix.reads = int(std::clamp(
        std::round(double(read_bytes) / double(std::max<std::int64_t>(write_bytes, 1))), 0.0, 4.0));
    mix.elements = write_bytes / 4;
  }
  mix.elements = std::max<std::int64_t>(mix.elements, 1);
  mix.scale = total / (double(mix.elements) * 4 * (mix.reads + (mix.writes ? 1 : 0)));
  return mix;
}

namespace {

constexpr std::int64_t stripe = 64 * 1024; // elements of one task

const Loops &require_loops() {
  const Loops *loops = loops_here();
  if (loops == nullptr) throw std::runtime_error("the benchmark needs a machine with AVX2");
  return *loops;
}

template <class F> void in_stripes(std::int64_t n, const F &f) {
  tbb::parallel_for(
      tbb::blocked_range<std::int64_t>(0, (n + stripe - 1) / stripe),
      [&](const auto &range) { f(range.begin() * stripe, std::min(n, range.end() * stripe)); });
}

std::string name_of(const Mix &mix, bool stream, bool all) {
  const std::string threads = all ? "all threads" : "1 thread";
  if (!mix.writes) return "read, " + threads;
  return fmt::format("{}, {} stores, {}",
                     mix.reads == 0 ? "write" : fmt::format("read {} : write 1", mix.reads),
                     stream ? "streaming" : "ordinary", threads);
}

} // namespace

// Grows as it is asked for; huge pages are a wish.
struct Probe::Memory {
  float *data = nullptr;
  std::int64_t bytes = 0;

  float *at_least(std::int64_t wanted) {
    if (wanted <= bytes) return data;
    release();
    constexpr std::int64_t page = 2 << 20;
    const std::int64_t size = (wanted + 2 * page) / page * page;
    void *const memory = mmap(nullptr, std::size_t(size), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      throw std::runtime_error(fmt::format("no {} bytes of memory for the roofline probe", size));
    madvise(memory, std::size_t(size), MADV_HUGEPAGE);
    data = static_cast<float *>(memory);
    bytes = size;
    std::fill(data, data + size / 4, 1.0f);
    return data;
  }
  void release() {
    if (data != nullptr) munmap(data, std::size_t(bytes));
    data = nullptr;
    bytes = 0;
  }
  ~Memory() { release(); }
};

Probe::Probe() : memory_(std::make_unique<Memory>()) { require_loops(); }
Probe::~Probe() = default;

std::vector<Probe::Way> Probe::ways(const Mix &mix) {
  const Loops &loops = require_loops();
  const int streams = mix.reads + (mix.writes ? 1 : 0);
  // All begin at the start of a page, as large arrays do. A stream that is read a little ahead of
  // one that is written, in the last 12 bits of the address, would wait for these stores.
  const std::int64_t length = (mix.elements + 1023) / 1024 * 1024;
  float *const start = memory_->at_least(length * streams * 4);
  Operands o;
  for (int k = 0; k < mix.reads; ++k) o.in[k] = start + k * length;
  o.out[0] = start + mix.reads * length;

  std::vector<Way> result;
  const auto add = [&](bool stream, bool all) {
    o.stream = stream;
    const auto piece = [&loops, o, mix](std::int64_t lo, std::int64_t hi) {
      if (mix.writes) return loops.move(mix.reads, o, lo, hi);
      const double volatile keep = loops.read(static_cast<const float *>(o.in[0]), lo, hi);
      (void)keep;
    };
    Way way{name_of(mix, stream, all), {}, mix.scale, double(mix.elements) * 4e-9 * streams};
    if (all)
      way.call = [piece, n = mix.elements] { in_stripes(n, piece); };
    else
      way.call = [piece, n = mix.elements] { piece(0, n); };
    result.push_back(std::move(way));
  };
  const bool small = mix.elements * streams * 4 <= 8 << 20;
  if (small) add(false, false);
  if (mix.elements > stripe) {
    add(false, true);
    if (mix.writes) add(true, true);
  }
  return result;
}

double Probe::operations_per_second(std::int64_t iterations) const {
  const Loops &loops = require_loops();
  const int threads = tbb::this_task_arena::max_concurrency();
  const auto start = std::chrono::steady_clock::now();
  tbb::parallel_for(
      0, threads,
      [&](int) {
        const float volatile keep = loops.fma(iterations);
        (void)keep;
      },
      tbb::static_partitioner{});
  return double(iterations) * double(loops.fma_operations) * threads / seconds_since(start);
}

std::vector<ProbeLine> Probe::table() {
  const Loops &loops = require_loops();
  std::vector<ProbeLine> lines;
  const auto best = [](const std::function<void()> &call) {
    double least = 1e9;
    for (int k = 0; k < 7; ++k) {
      const auto start = std::chrono::steady_clock::now();
      call();
      least = std::min(least, seconds_since(start));
    }
    return least;
  };
  constexpr std::int64_t elements = 1 << 24;
  for (const auto &[name, mix] : {std::pair<const char *, Mix>{"read", {1, false, elements, 1}},
                                  {"copy", {1, true, elements, 1}},
                                  {"triad", {2, true, elements, 1}}}) {
    const int streams = mix.reads + (mix.writes ? 1 : 0);
    const std::int64_t length = elements;
    float *const start = memory_->at_least(length * streams * 4);
    Operands o;
    for (int k = 0; k < mix.reads; ++k) o.in[k] = start + k * length;
    o.out[0] = start + mix.reads * length;
    for (const bool all : {false, true})
      for (const bool stream : {false, true}) {
        if (stream && !mix.writes) continue;
        o.stream = stream;
        const auto piece = [&](std::int64_t lo, std::int64_t hi) {
          if (mix.writes) return loops.move(mix.reads, o, lo, hi);
          const double volatile keep = loops.read(start, lo, hi);
          (void)keep;
        };
        const double seconds = best([&] {
          if (all)
            in_stripes(elements, piece);
          else
            piece(0, elements);
        });
        lines.push_back({fmt::format("{}{}, {}", name,
                                     !mix.writes ? ""
                                     : stream    ? ", streaming"
                                                 : ", ordinary stores",
                                     all ? "all threads" : "1 thread"),
                         double(elements) * 4e-9 * streams / seconds, "GB/s"});
      }
  }
  double one = 0, all = 0;
  for (int k = 0; k < 7; ++k) {
    const auto start = std::chrono::steady_clock::now();
    const float volatile keep = loops.fma(100000);
    (void)keep;
    one = std::max(one, 100000 * double(loops.fma_operations) / seconds_since(start));
    all = std::max(all, operations_per_second(1000000));
  }
  lines.push_back({"fma f32, 1 thread", one * 2e-9, "Gflop/s"});
  lines.push_back({"fma f32, all threads", all * 2e-9, "Gflop/s"});
  return lines;
}

} // namespace bench
