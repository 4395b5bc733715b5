// Kernels on many threads, in whatever state the caller's are, and longer than their objects.
#include "tests/unit/kernel/calls.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace broadloom;
using namespace broadloom::tests;

TEST_CASE("Every number of threads gives the same bits") {
  const Expr x = input("x", f32, {"i", "j"});
  const LoopSpec spec =
      LoopSpec("many").out("z", x / 3).out("s", sum(x / 3, "j")).out("t", sum(x / 7));
  std::vector<float> data(300 * 5000);
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = float(k % 1000) / 17 - 20;
  const View<const float> view(data.data(), {300, 5000});
  const Results one = compile(spec, with(Engine::automatic, 1))({{"x", view}});
  for (const int threads : {2, 3, 7}) {
    const Results many = compile(spec, with(Engine::automatic, threads))({{"x", view}});
    for (std::size_t o = 0; o < one.size(); ++o)
      CHECK(std::memcmp(one[o].raw(), many[o].raw(), std::size_t(one[o].size()) * 4) == 0);
  }
}

TEST_CASE("A call may be kept to fewer threads than the kernel, with the same bits") {
  const LoopSpec spec =
      parse("kernel k { in x : f32[i, j]; out z = x / sum(x, j)\n"
            "  out s = sum(x); out r = scan(sum, x, i)\n"
            "  let h[i, j] = pad(x, 1: (1, 1), edge)[i, j + 2] * 2; out t[k, j] = h[k + 1, j] }");
  Array x(f32, {300, 401});
  for (std::int64_t k = 0; k < x.size(); ++k) x.data<float>()[k] = float(k % 97) / 7;
  const Kernel kernel = compile(spec, with(Engine::automatic, 7));
  const Results all = kernel({{"x", x}});
  for (const int most : {1, 2, 3, 50}) {
    const Kernel kept = kernel.with_threads(most);
    CHECK(kept.threads() == std::min(most, 7));
    const Results few = kept({{"x", x}});
    for (const auto &[name, array] : all)
      CHECK(few[name].to_vector<float>() == array.to_vector<float>());
    Array z(f32, {300, 401});
    kept.bind({{"x", x}}, {{"z", z}})();
    CHECK(z.to_vector<float>() == all["z"].to_vector<float>());
  }
  CHECK(kernel.threads() == 7);
  CHECK(kernel.with_threads(2).with_threads(0).threads() == 7);
  CHECK(kernel.counters().compiles == kernel.with_threads(1).counters().compiles);
  try {
    kernel.with_threads(-1);
    FAIL("no error");
  } catch (const DataError &error) {
    CHECK(error.code() == "E0321");
  }
  try {
    compile(kernel.spec(), {.threads = -1});
    FAIL("no error");
  } catch (const DataError &error) {
    CHECK(error.code() == "E0321");
  }
}

TEST_CASE("A kernel whose calls are kept to one thread runs on the calling one alone") {
  // Threads that a call had run on would stay in the process.
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                         std::filesystem::directory_iterator());
  };
  const Kernel kernel =
      compile(parse("kernel one_thread { in x : f64[i, j]; out s = sum(exp(x), i) }"),
              with(Engine::automatic, 11));
  const Array x(f64, {2000, 500});
  kernel.with_threads(1).prepare({x});
  const auto before = threads();
  kernel.with_threads(1)({{"x", x}});
  CHECK(threads() == before);
}

TEST_CASE("A kernel may be called from many threads, with old and new layouts") {
  const Kernel kernel = compile(scaled_rows(), with(Engine::automatic, 2));
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t, own = kernel] {
      for (int turn = 0; turn < 40; ++turn) {
        const int columns = 1 + (turn + t) % 30;
        const auto x = counting<float>(std::size_t(2 * columns)), y = counting<float>(2);
        std::vector<float> z(x.size());
        own.run({View<const float>(x.data(), {2, columns}), View<const float>(y.data(), {2})},
                {View<float>(z.data(), {2, columns})});
        good += z.back() == 2 * x.back() + 2 && z.front() == 3;
      }
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(good == 6 * 40);
}

TEST_CASE("A bound call outlives its kernel and sees new data") {
  const auto y = counting<float>(2);
  auto x = counting<float>(6);
  std::vector<float> z(6);
  const BoundCall call = [&] {
    const Kernel kernel = compile(scaled_rows(), with(Engine::automatic));
    return kernel.bind({View<const float>(x.data(), {2, 3}), View<const float>(y.data(), {2})},
                       {View<float>(z.data(), {2, 3})});
  }();
  call();
  CHECK(z[0] == 3);
  x[0] = 10;
  call();
  CHECK(z[0] == 21);
}

#if defined(__x86_64__)
TEST_CASE("Floating-point control of the caller neither matters nor changes") {
  const Expr x = input("x", f32, {"i"});
  const float tiny[] = {1e-40f, 1e-41f};
  for (const Engine engine : {Engine::interpreter, Engine::automatic}) {
    const Kernel kernel = compile(LoopSpec("tiny").out("z", x * 0.5), with(engine));
    float z[2] = {};
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); // flush to zero, subnormals as zero
    const unsigned odd = _mm_getcsr();
    kernel.run({View<const float>(tiny, {2})}, {View<float>(z, {2})});
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    CHECK(after == odd);
    CHECK(z[0] == 0.5e-40f);
    CHECK(z[1] == 0.5e-41f);
  }
}
#endif
