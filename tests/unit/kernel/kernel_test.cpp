// Kernels: what calls compute and show, where their outputs lie, and how large they may be.
#include "tests/unit/kernel/calls.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace broadloom;
using namespace broadloom::tests;

TEST_CASE("A kernel runs on the caller's memory, by position and by name") {
  for (const Engine engine : engines) {
    const Kernel kernel = compile(scaled_rows(), with(engine));
    const auto x = counting<float>(6), y = counting<float>(2);
    std::vector<float> z(6), named(6);
    kernel.run({View<const float>(x.data(), {2, 3}), View<const float>(y.data(), {2})},
               {View<float>(z.data(), {2, 3})});
    kernel.run(
        {{"y", View<const float>(y.data(), {2})}, {"x", View<const float>(x.data(), {2, 3})}},
        {{"z", View<float>(named.data(), {2, 3})}});
    CHECK(z == std::vector<float>{3, 5, 7, 10, 12, 14});
    CHECK(named == z);
  }
}

TEST_CASE("An output that is not named is not computed") {
  for (const Engine engine : engines) {
    const Kernel kernel = compile(two_outputs(), with(engine));
    const auto a = counting<double>(4);
    std::vector<double> w(4);
    const View<const double> view(a.data(), {4});
    kernel.run({{"a", view}, {"b", view}}, {{"w", View<double>(w.data(), {4})}});
    CHECK(w == std::vector<double>{1, 4, 9, 16});
    kernel.run({{"a", view}, {"b", view}}, std::initializer_list<NamedView>{});
    CHECK(w == std::vector<double>{1, 4, 9, 16});
  }
}

TEST_CASE("An output with += adds to what is there") {
  const Expr x = input("x", f32, {"i"});
  for (const Engine engine : engines) {
    const Kernel kernel = compile(LoopSpec("add").out("z", x * 2).add(), with(engine));
    const auto data = counting<float>(4);
    std::vector<float> z(4, 100);
    kernel.run({View<const float>(data.data(), {4})}, {View<float>(z.data(), {4})});
    CHECK(z == std::vector<float>{102, 104, 106, 108});
    auto both = data;
    kernel.run({View<const float>(both.data(), {4})}, {View<float>(both.data(), {4})});
    CHECK(both == std::vector<float>{3, 6, 9, 12});
  }
}

TEST_CASE("Arrays without elements need no memory") {
  for (const Engine engine : engines) {
    const Kernel kernel = compile(row_sums(), with(engine));
    std::vector<float> s(3, 7);
    kernel.run({View<const float>(nullptr, {3, 0})}, {View<float>(s.data(), {3})});
    CHECK(s == std::vector<float>(3, 0));
    kernel.run({View<const float>(nullptr, {0, 5})}, {View<float>(nullptr, {0})});
  }
}

TEST_CASE("Allocated outputs lie in the stride order of the first input of full rank") {
  const Kernel kernel = compile(scaled_rows(), interpreted);
  const auto x = counting<float>(6), y = counting<float>(2);
  const Results c_order =
      kernel({{"x", View<const float>(x.data(), {2, 3})}, {"y", View<const float>(y.data(), {2})}});
  CHECK(c_order["z"].strides()[1] == 1);
  CHECK(c_order["z"].data<float>()[5] == 14);
  const Results f_order = kernel({{"x", View<const float>(x.data(), {2, 3}, {1, 2})},
                                  {"y", View<const float>(y.data(), {2})}});
  CHECK(f_order["z"].strides()[0] == 1);
  CHECK(f_order["z"].strides()[1] == 2);
  CHECK(f_order["z"].data<float>()[5] == 14);
  CHECK(error_of([&] { f_order["s"]; }).code == "E0304");
}

TEST_CASE("infer gives dtypes and shapes without data") {
  const Kernel kernel = compile(row_sums(), interpreted);
  const auto signatures = kernel.infer({View<const float>(nullptr, {5, 7})});
  REQUIRE(signatures.size() == 1);
  CHECK(signatures[0].name == "s");
  CHECK(signatures[0].dtype == f32);
  CHECK(signatures[0].shape == std::vector<std::int64_t>{5});
  CHECK(error_of([&] { kernel.infer({View<const float>(nullptr, {5})}); }).code == "E0101");
}

TEST_CASE("Ten shapes of a pattern are compiled once, prepare compiles ahead") {
  const Expr x = input("x", f32, {"i", "j"});
  const Kernel kernel = compile(LoopSpec("ten").out("z", x * 3 + 0.25), with(Engine::jit));
  kernel.prepare({View<const float>(nullptr, {4, 5})});
  CHECK(kernel.counters().compiles == 1);
  for (int n = 2; n < 12; ++n) {
    const auto data = counting<float>(std::size_t(n * (n + 1)));
    const Results results = kernel({{"x", View<const float>(data.data(), {n, n + 1})}});
    CHECK(results["z"].data<float>()[1] == 6.25f);
  }
  CHECK(kernel.counters().compiles == 1);
  CHECK(kernel.counters().patterns == 1);
  CHECK(kernel.counters().interpreted == 0);
  CHECK(kernel.counters().compile_ms > 0);

  const Kernel same = compile(LoopSpec("other_name").out("w", x * 3 + 0.25), with(Engine::jit));
  same.prepare({View<const float>(nullptr, {4, 5})});
  CHECK(same.counters().compiles == 0); // the code is in the cache of the process
}

TEST_CASE("More layouts than a kernel remembers are still right") {
  const Kernel kernel = compile(scaled_rows(), interpreted);
  for (int turn = 0; turn < 2; ++turn)
    for (int columns = 1; columns < 300; ++columns) {
      const auto x = counting<float>(std::size_t(2 * columns)), y = counting<float>(2);
      std::vector<float> z(x.size());
      kernel.run({View<const float>(x.data(), {2, columns}), View<const float>(y.data(), {2})},
                 {View<float>(z.data(), {2, columns})});
      CHECK(z.back() == 2 * x.back() + 2);
    }
}

TEST_CASE("Every stage can be shown before the first call") {
  const Kernel kernel = compile(scaled_rows(), with(Engine::automatic));
  for (const Stage stage : {Stage::spec, Stage::folded, Stage::axes, Stage::graph, Stage::call,
                            Stage::plan, Stage::loop})
    CHECK_FALSE(kernel.show(stage).empty());
  CHECK(has(kernel.show(Stage::plan), "in       x : f32 shape (1000, 1001) strides (1001, 1)"));
  CHECK(kernel.counters().compiles == 0);
  for (const Stage stage : {Stage::block, Stage::llvm, Stage::assembly, Stage::why}) // of its code
    CHECK_FALSE(kernel.show(stage).empty());
  CHECK(kernel.counters().compiles <= 1); // another test may have left it in the cache
}

TEST_CASE("The plan that is shown is that of the latest call") {
  const Kernel kernel = compile(row_sums(), interpreted);
  const auto x = counting<float>(12);
  (void)kernel({{"x", View<const float>(x.data(), {3, 4})}});
  CHECK(has(kernel.show(Stage::plan), "shape (3, 4)"));
  (void)kernel({{"x", View<const float>(x.data(), {2, 6})}});
  CHECK(has(kernel.show(Stage::plan), "shape (2, 6)"));
}

TEST_CASE("why names the engine and what runs one lane at a time") {
  const Expr x = input("x", f32, {"i"});
  const Kernel kernel = compile(LoopSpec("k").out("z", fmod(x, 3.0)), with(Engine::automatic));
  const std::string why = kernel.show(Stage::why);
  CHECK(has(why, "engine: "));
  CHECK(has(why, "fmod runs one lane at a time"));
}

TEST_CASE("A kernel of tens of thousands of operations runs in native code") {
  std::string text = "kernel k {\n in x : f64[:]\n out z = x";
  for (int k = 0; k < 30'000; ++k) text += " + x * " + std::to_string(k % 7);
  const Kernel kernel = compile(parse(text + "\n}"), {.engine = Engine::jit});
  const Array x(f64, {3});
  for (int k = 0; k < 3; ++k) x.data<double>()[k] = k;
  double factor = 1;
  for (int k = 0; k < 30'000; ++k) factor += k % 7;
  CHECK(kernel({{"x", x}})["z"].data<double>()[2] == 2 * factor);
  CHECK(kernel.counters().interpreted == 0);
}

TEST_CASE("A kernel too large for native code is interpreted, or refused where native code was "
          "asked for") {
  std::string step = "m", text = "in x : f64[:]; out z = x";
  for (int k = 0; k < 1'000; ++k) step += " + a * 0";
  for (int k = 0; k < 350; ++k) text += " + heavy(x * " + std::to_string(k) + ")";
  const LoopSpec spec = parse("accumulator heavy(a; m) { init a = 0; step a = " + step +
                              " }\nkernel k { " + text + " }");
  const Array x(f64, {3}), z(f64, {3});
  for (int k = 0; k < 3; ++k) x.data<double>()[k] = k;
  const Kernel kernel = compile(spec);
  kernel.run({x}, {z});
  CHECK(z.data<double>()[1] == 1 + 2 * 350 * 349 / 2);
  CHECK(kernel.counters().interpreted == 1);
  CHECK(kernel.counters().compiles == 0);
  CHECK(has(kernel.show(Stage::why), "too large for native code"));
  const Kernel native = compile(spec, {.engine = Engine::jit});
  CHECK_THROWS_WITH_AS(native.run({x}, {z}), doctest::Contains("too large for native code"),
                       CompileError);
}

TEST_CASE("Thousands of outputs become many small phases") {
  std::string text = "kernel k {\n in x : f64[:]\n";
  for (int k = 0; k < 500; ++k)
    text += " out z" + std::to_string(k) + " = x + " + std::to_string(k) + "\n out s" +
            std::to_string(k) + " = sum(x * " + std::to_string(k) + ")\n";
  const Kernel kernel = compile(parse(text + "}"));
  const Array x(f64, {3});
  for (int k = 0; k < 3; ++k) x.data<double>()[k] = k;
  const Results r = kernel({{"x", x}});
  for (int k = 0; k < 500; ++k) {
    CHECK(r["z" + std::to_string(k)].data<double>()[1] == 1 + k);
    CHECK(r["s" + std::to_string(k)].data<double>()[0] == 3 * k);
  }
}

TEST_CASE("An output that is not asked for cannot fail the call") {
  const Kernel kernel =
      compile(parse("kernel k { in x : f32[:]\n out z[] = reduce(max) x\n out w = x }"));
  const Array x(f32, {0}), w(f32, {0}), z(f32, {});
  kernel.run({{"x", x}}, {{"w", w}});
  CHECK_THROWS_AS(kernel.run({x}, {z, w}), DataError);
}

TEST_CASE("An input of which only the shape is read needs no data") {
  const LoopSpec spec =
      parse("kernel k { in x : f32[i, j]; in y : f64[i]\n"
            "out z = broadcast(like=x) y; out n = extent(j, of=x) + y; out m = iota(j, of=x)\n"
            "out s += sum(y, like=x) }");
  const std::vector<double> y{3, 4};
  const auto odd = reinterpret_cast<const float *>(std::uintptr_t(3)); // nor need it be aligned
  for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference})
    for (const float *data : {static_cast<const float *>(nullptr), odd}) {
      const Kernel kernel = compile(spec, with(engine));
      for (int turn = 0; turn < 2; ++turn) {
        const Results r = kernel(
            {{"x", View<const float>(data, {2, 3})}, {"y", View<const double>(y.data(), {2})}});
        CHECK(r["z"].copy().data<double>()[5] == 4);
        CHECK(r["n"].data<double>()[1] == 7);
        CHECK(r["m"].data<std::int64_t>()[2] == 2);
        CHECK(r["s"].copy().data<double>()[0] == 3);
      }
      CHECK(error_of([&] {
              kernel({{"x", View<const float>(data, {2, 3})},
                      {"y", View<const double>(nullptr, {2})}});
            }).code == "E0306");
    }
  const LoopSpec back =
      gradient(parse("kernel k { in x : f64[i, j]; out z = sum(3 * x, j) }"), {"x"});
  const Results r = compile(back)(
      {{"x", View<const double>(nullptr, {2, 3})}, {"d_z", View<const double>(y.data(), {2})}});
  CHECK(r["d_x"].copy().data<double>()[5] == 12);
}
