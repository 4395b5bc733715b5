// Calls whose operands share memory.
#include "tests/unit/kernel/calls.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace broadloom;
using namespace broadloom::tests;

TEST_CASE("Outputs may interleave in memory but not overlap") {
  const Kernel kernel = compile(two_outputs(), interpreted);
  const auto a = counting<double>(4);
  std::vector<double> both(8);
  const View<const double> av(a.data(), {4});
  kernel.run({av, av},
             {View<double>(both.data(), {4}, {2}), View<double>(both.data() + 1, {4}, {2})});
  CHECK(both == std::vector<double>{2, 1, 3, 4, 4, 9, 5, 16});
  CHECK(error_of([&] {
          kernel.run({av, av},
                     {View<double>(both.data(), {4}), View<double>(both.data() + 3, {4})});
        }).code == "E0121");
}

TEST_CASE("Inputs that overlap outputs behave as if they had been copied first") {
  const Expr x = input("x", f32, {"i"}), y = input("y", f32, {"i"});
  const LoopSpec spec = LoopSpec("shift").out("z", x * 10 + y);
  for (const Engine engine : engines) {
    const Kernel kernel = compile(spec, with(engine));
    // Where x, y and z begin in one block of memory, and how they step.
    struct Case {
      int x, x_step, y, y_step, z, z_step;
    };
    const Case cases[] = {{0, 1, 40, 1, 0, 1},   {0, 1, 40, 1, 1, 1}, {1, 1, 40, 1, 0, 1},
                          {15, -1, 40, 1, 0, 1}, {0, 1, 0, 1, 0, 1},  {0, 1, 15, -1, 0, 1},
                          {0, 2, 1, 2, 0, 1},    {0, 0, 3, 1, 0, 1},  {0, 1, 8, 1, 15, -1}};
    for (const Case &c : cases) {
      CAPTURE(&c - cases);
      const auto original = counting<float>(64);
      auto memory = original, expected = original;
      const auto view = [](const std::vector<float> &in, int at, int step) {
        return View<const float>(in.data() + at, {16}, {step});
      };
      kernel.run({view(original, c.x, c.x_step), view(original, c.y, c.y_step)},
                 {View<float>(expected.data() + c.z, {16}, {c.z_step})});
      kernel.run({view(memory, c.x, c.x_step), view(memory, c.y, c.y_step)},
                 {View<float>(memory.data() + c.z, {16}, {c.z_step})});
      CHECK(memory == expected);
    }
  }
}

TEST_CASE("A transpose in place is right") {
  const Expr x = input("x", i32, {"i", "j"});
  const LoopSpec spec = LoopSpec("transpose").out("z", Mode{}, {"j", "i"}, x + 0);
  for (const Engine engine : engines) {
    const Kernel kernel = compile(spec, with(engine));
    auto data = counting<std::int32_t>(9);
    const View<std::int32_t> view(data.data(), {3, 3});
    kernel.run({view}, {view});
    CHECK(data == std::vector<std::int32_t>{1, 4, 7, 2, 5, 8, 3, 6, 9});
  }
}

TEST_CASE("A fold whose output lies in its input is right") {
  for (const Engine engine : engines) {
    const Kernel kernel = compile(row_sums(), with(engine));
    auto data = counting<float>(12);
    kernel.run({View<const float>(data.data(), {3, 4})}, {View<float>(data.data(), {3})});
    CHECK(data[0] == 10);
    CHECK(data[1] == 26);
    CHECK(data[2] == 42);
    CHECK(data[3] == 4);
  }
}

TEST_CASE("What is stored around the caches may lie where an input does") {
  const Kernel kernel = compile(
      parse(
          "kernel next { in x : f32[i]; in y : f32[i]; out z = x * 2 + y; schedule { stream z } }"),
      with(Engine::jit));
  constexpr std::int64_t n = 1000;
  for (const int at : {0, 1, 3, 16}) {
    CAPTURE(at);
    const auto original = counting<float>(n + 16);
    auto memory = original;
    const View<float> x(memory.data() + at, {n});
    kernel.run({x, View<const float>(original.data(), {n})}, {x});
    for (std::int64_t i = 0; i < n + 16; ++i) {
      const bool inside = i >= at && i < at + n;
      CHECK(memory[std::size_t(i)] ==
            (inside ? original[std::size_t(i)] * 2 + original[std::size_t(i - at)]
                    : original[std::size_t(i)]));
    }
  }
}
