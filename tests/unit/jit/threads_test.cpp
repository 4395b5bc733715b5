// The runtime: blocks, threads, quotas, floating-point control, scratch, and the cache in memory.
#include "jit/cache/cache.hpp"
#include "jit/runtime/machine.hpp"
#include "jit/runtime/scratch.hpp"
#include "jit/runtime/shares.hpp"
#include "jit/runtime/threads.hpp"
#include "support/float_control.hpp"

#include <broadloom/log.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace broadloom;
using namespace broadloom::jit;

namespace {

constexpr double much_work = 1e12;

// A phase over two axes that counts its visits to each position in an i32 array.
void count_visits(const loop::Frame *frame, const std::int64_t *lo, const std::int64_t *hi) {
  auto *counts = reinterpret_cast<std::int32_t *>(frame->buffers[0]);
  for (std::int64_t i = lo[0]; i < hi[0]; ++i)
    for (std::int64_t j = lo[1]; j < hi[1]; ++j) counts[i * frame->extents[1] + j] += 1;
}

// How often each position of the box is visited: the least and the greatest number.
std::pair<int, int> visits(std::int64_t rows, std::int64_t columns, double work, int threads) {
  std::vector<std::int32_t> counts(std::size_t(rows * columns));
  const std::int64_t extents[] = {rows, columns};
  char *buffers[] = {reinterpret_cast<char *>(counts.data())};
  loop::Frame frame;
  frame.extents = extents;
  frame.buffers = buffers;
  const runtime::Grid grid = runtime::make_grid(extents, 1, work, {.threads = threads});
  runtime::run_phase(runtime::workers(threads), grid, count_visits, frame, {});
  int least = 1, most = 1;
  for (const int count : counts) {
    least = std::min(least, count);
    most = std::max(most, count);
  }
  return {least, most};
}

struct Environment { // a variable set for the time of a test
  Environment(const char *name, const char *value) : name(name) {
    if (const char *old = std::getenv(name)) before = old;
    setenv(name, value, 1);
  }
  ~Environment() {
    if (before)
      setenv(name, before->c_str(), 1);
    else
      unsetenv(name);
  }
  const char *name;
  std::optional<std::string> before;
};

} // namespace

TEST_CASE("A phase without parallel axes runs once") {
  CHECK(runtime::make_grid({}, std::nullopt, much_work, {.threads = 8}).blocks == 1);
}

TEST_CASE("An extent of 0 runs nothing") {
  const std::int64_t extents[] = {4, 0, 5};
  CHECK(runtime::make_grid(extents, 2, much_work, {.threads = 4}).blocks == 0);
}

TEST_CASE("Little work and one thread both give a single block") {
  const std::int64_t extents[] = {1'000'000};
  CHECK(runtime::make_grid(extents, 0, 1000, {.threads = 64}).blocks == 1);
  CHECK(runtime::make_grid(extents, 0, much_work, {.threads = 1}).blocks == 1);
}

TEST_CASE(
    "Each thread has as many blocks as the others, where there are more blocks than threads") {
  const std::int64_t extents[] = {100'000};
  for (const int threads : {2, 3, 16})
    for (const double tasks : {2.5, 5.0, 7.9, 13.0, 31.0, 500.0}) {
      CAPTURE(threads);
      CAPTURE(tasks);
      const support::Machine machine{.threads = threads};
      const std::int64_t blocks =
          runtime::make_grid(extents, {}, tasks * machine.task_cycles, machine).blocks;
      CHECK(blocks <= std::int64_t(tasks));
      CHECK((blocks < threads || blocks % threads == 0));
    }
}

TEST_CASE("Work of some microseconds is cut into blocks for threads that are awake already") {
  const std::int64_t extents[] = {1'000'000};
  const double some_work = 30'000;
  const runtime::Grid grid = runtime::make_grid(extents, 0, some_work, {.threads = 2});
  CHECK(grid.only_if_awake);
  CHECK(!grid.wakes_threads());
  CHECK(grid.blocks == 4);
  CHECK(runtime::make_grid(extents, 0, some_work, {.threads = 1}).blocks == 1);
  CHECK(runtime::make_grid(extents, 0, much_work, {.threads = 2}).wakes_threads());
}

TEST_CASE("A thread takes the blocks of its own share first, then what is left of the others'") {
  for (const std::int64_t blocks : {1, 2, 7, 8, 40})
    for (const int threads : {1, 2, 3, 16, 40}) {
      runtime::Shares alone(blocks, threads);
      std::vector<int> taken(std::size_t(blocks), 0);
      std::vector<std::int64_t> order;
      alone.take(threads - 1, [&](std::int64_t block) {
        ++taken[std::size_t(block)];
        order.push_back(block);
        return true;
      });
      CHECK(taken == std::vector<int>(std::size_t(blocks), 1));
      if (threads <= 16 && threads <= blocks)
        CHECK(order.front() == blocks * (threads - 1) / threads);
    }
  runtime::Shares two(8, 2);
  std::vector<std::int64_t> first, second;
  two.take(1, [&](std::int64_t block) {
    second.push_back(block);
    return second.size() < 3;
  });
  two.take(0, [&](std::int64_t block) {
    first.push_back(block);
    return true;
  });
  CHECK(second == std::vector<std::int64_t>{4, 5, 6});
  CHECK(first == std::vector<std::int64_t>{0, 1, 2, 3, 7});
}

TEST_CASE("Short work is shared by as many threads as have two blocks each") {
  CHECK(runtime::threads_awake(2, 16) == 2);
  CHECK(runtime::threads_awake(8, 16) == 4);
  CHECK(runtime::threads_awake(24, 16) == 12);
  CHECK(runtime::threads_awake(24, 2) == 2);
}

TEST_CASE("Short calls close upon each other are shared with a thread that looks out for them") {
  struct Seen {
    static void thread(const loop::Frame *frame, const std::int64_t *lo, const std::int64_t *) {
      auto *helped = reinterpret_cast<std::atomic<int> *>(frame->buffers[0]);
      const auto caller = *reinterpret_cast<std::thread::id *>(frame->buffers[1]);
      helped[lo[0]] += 1;
      if (std::this_thread::get_id() != caller) helped[4] += 1;
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(5);
      while (std::chrono::steady_clock::now() < end) {
      }
    }
  };
  std::array<std::atomic<int>, 5>
      counts{}; // visits of each block, and how many were another thread's
  std::thread::id caller = std::this_thread::get_id();
  char *buffers[] = {reinterpret_cast<char *>(counts.data()), reinterpret_cast<char *>(&caller)};
  loop::Frame frame;
  frame.buffers = buffers;
  const runtime::Grid four{{0}, {4}, {1}, {4}, 4, true};
  int calls = 0;
  for (; calls < 500'000 && counts[4] < 100; ++calls) // a busy machine seldom runs both
    runtime::run_phase(runtime::workers(2), four, Seen::thread, frame, {});
  CHECK(counts[4] >= 100);
  // A call that is not shared is one call of the phase, for all of the box.
  for (int k = 1; k < 4; ++k) CHECK(counts[k] <= counts[0]);
  CHECK(counts[0] == calls);
}

TEST_CASE("Short calls of many threads, some shared and some not, visit each position once") {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 2000; ++turn)
        good += visits(8, 4096, 30'000, 2 + turn % 2) == std::pair(1, 1);
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(good == 8000);
}

TEST_CASE("A vector axis is cut between whole vectors, wherever it stands") {
  const std::int64_t few[] = {8, 64}, many[] = {1000, 4};
  CHECK(runtime::make_grid(few, 0, much_work, {.threads = 2}).count ==
        std::vector<std::int64_t>{1, 16});
  const runtime::Grid columns = runtime::make_grid(many, 0, much_work, {.threads = 2});
  CHECK(columns.step == std::vector<std::int64_t>{64, 4});
}

TEST_CASE("The outer axis is cut first, and the inner one only where that gives too few blocks") {
  const std::int64_t tall[] = {1000, 1'000'000}, flat[] = {3, 1'000'000};
  const runtime::Grid rows = runtime::make_grid(tall, 1, much_work, {.threads = 2});
  CHECK(rows.count == std::vector<std::int64_t>{16, 1});
  const runtime::Grid both = runtime::make_grid(flat, 1, much_work, {.threads = 2});
  CHECK(both.count == std::vector<std::int64_t>{3, 6});
  CHECK(both.step[1] == 166912);
  CHECK(both.step[1] % 1024 == 0);
}

TEST_CASE("Blocks cover every position exactly once, whatever the sizes and threads") {
  for (const int threads : {1, 2, 3, 7})
    for (const std::int64_t rows : {1, 2, 17, 100})
      for (const std::int64_t columns : {1, 5, 1024, 5000}) {
        CAPTURE(threads);
        CAPTURE(rows);
        CAPTURE(columns);
        CHECK(visits(rows, columns, much_work, threads) == std::pair(1, 1));
      }
}

TEST_CASE("Many threads may run phases at once") {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int k = 0; k < 6; ++k)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 20; ++turn)
        good += visits(64, 2048, much_work, 3) == std::pair(1, 1);
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(good == 120);
}

TEST_CASE(
    "BROADLOOM_THREADS gives the number of threads, unless it is no number, which is said once") {
  std::vector<std::string> said;
  set_log_sink([&](LogLevel, std::string_view text) { said.emplace_back(text); });
  {
    const Environment set("BROADLOOM_THREADS", "5");
    CHECK(runtime::default_threads() == 5);
  }
  for (const char *odd : {"0", "-3", "many", "4x", ""}) {
    const Environment set("BROADLOOM_THREADS", odd);
    CHECK(runtime::default_threads() >= 1);
    CHECK(runtime::default_threads() <= int(std::thread::hardware_concurrency()));
  }
  set_log_sink({});
  CHECK(said == std::vector<std::string>{
                    "BROADLOOM_THREADS is '-3': write a number, 0 for as many as there are"});
}

TEST_CASE("The least cgroup quota on the way up to the root counts") {
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("broadloom-cgroup-" + std::to_string(getpid()));
  std::filesystem::create_directories(root / "a/b");
  std::filesystem::create_directories(root / "cpu/c");
  std::ofstream(root / "cpu.max") << "max 100000\n";
  std::ofstream(root / "a/cpu.max") << "250000 100000\n";
  std::ofstream(root / "a/b/cpu.max") << "800000 100000\n";
  std::ofstream(root / "cpu/c/cpu.cfs_quota_us") << "150000\n";
  std::ofstream(root / "cpu/c/cpu.cfs_period_us") << "100000\n";
  std::filesystem::create_directories(root / "cpu/free");
  std::ofstream(root / "cpu/free/cpu.cfs_quota_us") << "-1\n";
  std::ofstream(root / "cpu/free/cpu.cfs_period_us") << "100000\n";
  CHECK(runtime::quota_threads("0::/a/b\n", root) == 3);
  CHECK(runtime::quota_threads("4:cpu,cpuacct:/c\n", root) == 2);
  CHECK(runtime::quota_threads("4:cpu,cpuacct:/free\n", root) == 0);
  CHECK(runtime::quota_threads("9:pids:/a/b\n4:cpu,cpuacct:/c\n0::/a/b", root) ==
        2); // no end of line
  CHECK(runtime::quota_threads("0::/\n", root) == 0);
  CHECK(runtime::quota_threads("0::/not/there\nnonsense\n", root) == 0);
  std::filesystem::remove_all(root);
}

#if defined(__x86_64__)
TEST_CASE("A block runs under default floating-point control and leaves the caller's as it was") {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x9fc0 | 0x6000); // flush to zero, subnormals as zero, round towards zero
  const unsigned odd = _mm_getcsr();
  {
    const support::FloatControl control;
    CHECK((_mm_getcsr() & ~0x3fu) == 0x1f80);
    volatile double third = 3;
    third = 1 / third; // sets the inexact flag
  }
  CHECK(_mm_getcsr() == odd);
  _mm_setcsr(before);
}
#endif

TEST_CASE("Scratch is aligned, reused by the next call and not shared by nested ones") {
  // What is kept belongs to a thread: a new one has seen no call before.
  std::thread([] {
    char *first = nullptr;
    {
      const runtime::Scratch outer(1000), inner(1000);
      CHECK(reinterpret_cast<std::uintptr_t>(outer.data()) % 64 == 0);
      CHECK(outer.data() != inner.data());
      first = inner.data(); // the first to be given back is the one to be kept
    }
    const runtime::Scratch again(500);
    CHECK(again.data() == first);
    CHECK(runtime::Scratch(0).data() == nullptr);
  }).join();
}

TEST_CASE("Many threads that ask for one key make it once") {
  MemoryCache<int> cache(8);
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < 8; ++k)
    threads.emplace_back([&] {
      cache.get("key", [&] {
        std::this_thread::yield();
        return std::make_shared<const int>(++made);
      });
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(made == 1);
}

TEST_CASE("A full cache forgets what was not used for the longest time") {
  MemoryCache<std::string> cache(2);
  const auto made = [&](const std::string &key) {
    return cache.get(key, [&] { return std::make_shared<const std::string>(key); }).made;
  };
  CHECK(made("a"));
  CHECK(made("b"));
  CHECK_FALSE(made("a"));
  CHECK(made("c")); // drops b
  CHECK_FALSE(made("a"));
  CHECK(made("b"));
  CHECK(cache.size() == 2);
}

TEST_CASE("A cache that holds too many bytes forgets what nobody holds, the oldest first") {
  MemoryCache<std::string> cache(100, 10, [](const std::string &text) { return text.size(); });
  const auto get = [&](const std::string &key, std::size_t bytes) {
    return cache.get(key, [&] { return std::make_shared<const std::string>(bytes, '.'); });
  };
  const auto held = get("held", 4).value;
  CHECK(get("a", 3).dropped == 0);
  CHECK(get("b", 3).dropped == 0);
  CHECK(cache.bytes() == 10);
  CHECK_FALSE(get("a", 3).made); // b is older now
  CHECK(get("c", 1).dropped == 1);
  CHECK(cache.bytes() == 8);
  CHECK_FALSE(get("a", 3).made);
  CHECK_FALSE(get("held", 4).made);
  CHECK(get("b", 3).dropped == 1);           // c, as a and what is held were used later
  const auto large = get("large", 50).value; // more than there may be: all goes that nobody holds
  CHECK(cache.bytes() == 54);
  CHECK(cache.size() == 2);
  CHECK_FALSE(get("held", 4).made);
  CHECK(*held == "....");
}

TEST_CASE("What could not be made is not remembered") {
  MemoryCache<int> cache(2);
  CHECK_THROWS_AS(
      cache.get("k", []() -> std::shared_ptr<const int> { throw std::runtime_error("no"); }),
      std::runtime_error);
  CHECK(cache.get("k", [] { return std::make_shared<const int>(4); }).made);
}
