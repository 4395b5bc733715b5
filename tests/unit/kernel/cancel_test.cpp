// Options::cancel: calls that stop because they are asked to.
#include "jit/runtime/threads.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <thread>

using namespace broadloom;

namespace {

Options with(const std::shared_ptr<std::atomic<bool>> &flag, Engine engine = Engine::automatic,
             int threads = 2) {
  Options options;
  options.cancel = flag;
  options.engine = engine;
  options.threads = threads;
  return options;
}

const LoopSpec sums =
    parse("kernel sums { in x : f64[i]; in y : f64[j]; out z = sum(sin(x * y), j) }");

template <class F> std::string code_of(const F &call) {
  try {
    call();
  } catch (const CancelledError &error) {
    CHECK_FALSE(error.help().empty());
    return error.code();
  }
  return "none";
}

} // namespace

TEST_CASE("A call that is cancelled throws, and the next one runs") {
  const Array x(f64, {3}), y(f64, {4}), z(f64, {3});
  const auto flag = std::make_shared<std::atomic<bool>>(false);
  for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference}) {
    const Kernel kernel = compile(sums, with(flag, engine));
    const BoundCall bound = kernel.bind({x, y}, {z});
    *flag = true;
    CHECK(code_of([&] { kernel.run({x, y}, {z}); }) == "E0701");
    CHECK(code_of([&] { bound(); }) == "E0701");
    *flag = false;
    CHECK(code_of([&] { kernel.run({x, y}, {z}); }) == "none");
    CHECK(code_of([&] { bound(); }) == "none");
  }
}

TEST_CASE("A call that would take hours stops soon after the flag is set") {
  const Array x(f64, {1 << 20}), y(f64, {1 << 20}), z(f64, {1 << 20});
  for (const int threads : {1, 2}) {
    const auto flag = std::make_shared<std::atomic<bool>>(false);
    const Kernel kernel = compile(sums, with(flag, Engine::automatic, threads));
    kernel.prepare({x, y});
    std::thread impatient([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      *flag = true;
    });
    CHECK(code_of([&] { kernel.run({x, y}, {z}); }) == "E0701");
    impatient.join();
  }
}

// One thread adds single values in their order; pieces of rows are shared out.
TEST_CASE("Sums through positions and the lists of positions stop soon after the flag is set") {
  const std::int64_t points = 1 << 24;
  const Array k(i64, {points}), x(f64, {points}), b(f64, {1000}), y(f64, {1000});
  const Array wide(f64, {1 << 18, 64}), many(i64, {1 << 18}), table(f64, {1000, 64}),
      sum(f64, {1000, 64});
  for (int n = 0; n < points; ++n) k.data<std::int64_t>()[n] = n % 997;
  const LoopSpec of_values = parse("kernel s { in x : f64[n]; in k : i64[n]; in b : f64[:]\n"
                                   "out y = sum(x, like=b[k[n]]) }"),
                 of_rows = parse("kernel s { in x : f64[n, j]; in k : i64[n]; in b : f64[:, :]\n"
                                 "out y = sum(x, like=b[k[n], j]) }");
  const auto stops = [](const LoopSpec &spec, const std::initializer_list<AnyView> inputs,
                        const AnyView &output, int threads) {
    using Clock = std::chrono::steady_clock;
    const auto flag = std::make_shared<std::atomic<bool>>(false);
    const Kernel kernel = compile(spec, with(flag, Engine::automatic, threads));
    kernel.run(inputs, {output}); // which compiles
    const auto begin = Clock::now();
    kernel.run(inputs, {output});
    const auto whole = Clock::now() - begin;
    std::thread impatient([&] {
      std::this_thread::sleep_for(whole / 8);
      *flag = true;
    });
    CHECK(code_of([&] { kernel.run(inputs, {output}); }) == "E0701");
    impatient.join();
    *flag = false;
    CHECK(code_of([&] { kernel.run(inputs, {output}); }) == "none");
  };
  for (const int threads : {1, 2}) {
    stops(of_values, {x, k, b}, y, threads);
    stops(of_rows, {wide, many, table}, sum, threads);
  }
}

TEST_CASE("A check of a gradient can be cancelled") {
  const auto flag = std::make_shared<std::atomic<bool>>(true);
  GradientCheckOptions options;
  options.cancel = flag;
  CHECK(code_of([&] {
          check_gradient(sums, {{"x", Array(f64, {3})}, {"y", Array(f64, {2})}}, options);
        }) == "E0701");
}

TEST_CASE("Calls that can be cancelled are cut into short blocks, and give the same bits") {
  const std::int64_t extents[] = {1000, 4000};
  const jit::runtime::Grid whole = jit::runtime::make_grid(extents, true, 1e9, {.threads = 1});
  const jit::runtime::Grid cut = jit::runtime::make_grid(extents, true, 1e9, {.threads = 1}, 1e7);
  CHECK(whole.blocks == 1);
  CHECK(cut.blocks >= 100);

  const Array x(f64, {5000}), y(f64, {5000}), a(f64, {5000}), b(f64, {5000});
  for (int k = 0; k < 5000; ++k) x.data<double>()[k] = y.data<double>()[k] = k * 0.001;
  compile(sums, with(std::make_shared<std::atomic<bool>>(false))).run({x, y}, {a});
  compile(sums).run({x, y}, {b});
  CHECK(std::memcmp(a.raw(), b.raw(), 5000 * sizeof(double)) == 0);
}
