// Engine::tiered: calls begin in the interpreter, and their code is made beside.
#include "tests/unit/kernel/all_engines.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

using namespace broadloom;
using broadloom::tests::bytes;

namespace {

// BROADLOOM_VERIFY runs each call twice, and so has its code made at once.
struct Unverified {
  Unverified() { unsetenv("BROADLOOM_VERIFY"); }
  ~Unverified() {
    if (!before.empty()) setenv("BROADLOOM_VERIFY", before.c_str(), 1);
  }
  const std::string before =
      std::getenv("BROADLOOM_VERIFY") != nullptr ? std::getenv("BROADLOOM_VERIFY") : "";
};

// The constant makes programs of which no other test has made code.
Kernel kernel_with(double constant, Engine engine, int threads) {
  const Expr x = input("x", f32, {"i", "j"});
  return compile(LoopSpec("softer").out("z", exp(x) / sum(exp(x), "j") * constant),
                 {.threads = threads, .engine = engine});
}

Array numbers(std::int64_t rows, std::int64_t columns) {
  Array x(f32, {rows, columns});
  for (std::int64_t k = 0; k < x.size(); ++k) x.data<float>()[k] = float(k % 7) / 8 - 1;
  return x;
}

std::string code_of(const Kernel &kernel, const std::string &topic) {
  for (const Decision &d : kernel.why())
    if (d.topic == topic) return d.code;
  return {};
}

bool comes_to_be_native(const Kernel &kernel, const Array &x) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (kernel.engine() != Engine::jit && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    kernel({{"x", x}});
  }
  return kernel.engine() == Engine::jit;
}

} // namespace

TEST_CASE("The first call of a tiered kernel is interpreted, and nothing is compiled for it") {
  const Unverified here;
  const Array x = numbers(8, 9);
  const Kernel kernel = kernel_with(1.5, Engine::tiered, 2);
  const Array z = kernel({{"x", x}})[0];
  CHECK(kernel.engine() == Engine::interpreter);
  CHECK(kernel.counters().interpreted == 1);
  CHECK(kernel.counters().compiles == 0);
  CHECK(kernel.counters().patterns == 0);
  CHECK(code_of(kernel, "engine") == "tiered");
  CHECK(code_of(kernel, "cache") == "code-beside");
  CHECK(bytes(z) == bytes(kernel_with(1.5, Engine::jit, 2)({{"x", x}})[0]));
}

TEST_CASE("Calls after the first take code that is made beside them, and keep their bits") {
  const Unverified here;
  const Array x = numbers(8, 9);
  const Kernel kernel = kernel_with(2.5, Engine::tiered, 2);
  const Array first = kernel({{"x", x}})[0], second = kernel({{"x", x}})[0];
  CHECK(bytes(first) == bytes(second));
  REQUIRE(comes_to_be_native(kernel, x));
  const Counters counters = kernel.counters();
  CHECK(counters.interpreted >= 1 + (std::thread::hardware_concurrency() > 1));
  CHECK(counters.compiles == 1);
  CHECK(counters.patterns == 1);
  CHECK(counters.steps.select > 0);
  CHECK(counters.compile_ms >= counters.steps.select);
  CHECK(bytes(kernel({{"x", x}})[0]) == bytes(first));
  CHECK(kernel.counters().interpreted == counters.interpreted);
  CHECK(code_of(kernel, "engine") == "native-code");
  CHECK(code_of(kernel, "cache") == "first-pattern");
}

TEST_CASE("On one thread the second call of a tiered kernel makes its code") {
  const Unverified here;
  const Array x = numbers(8, 9);
  const Kernel kernel = kernel_with(3.5, Engine::tiered, 1);
  const Array first = kernel({{"x", x}})[0], second = kernel({{"x", x}})[0];
  CHECK(kernel.engine() == Engine::jit);
  CHECK(kernel.counters().interpreted == 1);
  CHECK(kernel.counters().compiles == 1);
  CHECK(bytes(first) == bytes(second));
}

TEST_CASE("A call that the interpreter would take long for waits for its code") {
  const Unverified here;
  const Kernel kernel = kernel_with(4.5, Engine::tiered, 2);
  kernel({{"x", numbers(1000, 200)}});
  CHECK(kernel.engine() == Engine::jit);
  CHECK(kernel.counters().interpreted == 0);
  CHECK(kernel.counters().compiles == 1);
}

TEST_CASE("Each layout of a tiered kernel begins in the interpreter, unless its code is known") {
  const Unverified here;
  const Kernel kernel = kernel_with(5.5, Engine::tiered, 1);
  kernel({{"x", numbers(8, 9)}});
  kernel({{"x", numbers(9, 8)}});
  CHECK(kernel.counters().interpreted == 2);
  kernel({{"x", numbers(8, 9)}});
  kernel({{"x", numbers(5, 7)}});
  CHECK(kernel.counters().interpreted == 2);
  CHECK(kernel.counters().compiles == 1);
  const Kernel other = kernel_with(5.5, Engine::tiered, 1);
  other({{"x", numbers(8, 9)}});
  CHECK(other.engine() == Engine::jit);
  CHECK(other.counters().compiles == 0);
  CHECK(code_of(other, "cache") == "code-known");
}

TEST_CASE("A tiered kernel that is prepared or bound has its code before its first call") {
  const Unverified here;
  const Array x = numbers(8, 9), z(f32, {8, 9});
  const Kernel prepared = kernel_with(6.5, Engine::tiered, 2);
  prepared.prepare({x});
  prepared.run({x}, {z});
  CHECK(prepared.counters().interpreted == 0);
  CHECK(prepared.counters().compiles == 1);
  const Kernel bound = kernel_with(7.5, Engine::tiered, 2);
  bound.bind({x}, {z})();
  CHECK(bound.counters().interpreted == 0);
  CHECK(bound.counters().compiles == 1);
}

TEST_CASE("Code may be prepared while it is being made beside calls") {
  const Unverified here;
  const Array x = numbers(8, 9);
  const Kernel kernel = kernel_with(8.5, Engine::tiered, 2);
  kernel({{"x", x}});
  kernel({{"x", x}});
  kernel.prepare({x});
  kernel({{"x", x}});
  CHECK(kernel.engine() == Engine::jit);
  CHECK(kernel.counters().compiles == 1);
}

TEST_CASE("A loop over time of a tiered kernel begins in the interpreter and goes on natively") {
  const Unverified here;
  const LoopSpec spec = parse("kernel walk { in x : f64[i]; let u[t < 20000, i] = "
                              "u[t - 1, i] * 0.75 + max(u[t - 1, k], k) * 0.125 from x; "
                              "out z = u[19999, i] }");
  const Array x(f64, {16});
  const Kernel kernel = compile(spec, {.threads = 1, .engine = Engine::tiered});
  const Array z = kernel({{"x", x}})[0];
  CHECK(kernel.counters().interpreted >= 1);
  CHECK(kernel.counters().interpreted < 10);
  CHECK(kernel.counters().compiles >= 1);
  CHECK(bytes(z) == bytes(compile(spec, {.threads = 1, .engine = Engine::jit})({{"x", x}})[0]));
}

TEST_CASE("Machine code of a tiered kernel that is interpreted is not shown: there is none yet") {
  const Unverified here;
  const Array x = numbers(8, 9);
  const Kernel kernel = kernel_with(9.5, Engine::tiered, 1);
  kernel({{"x", x}});
  CHECK_THROWS_WITH_AS(kernel.show(Stage::assembly),
                       doctest::Contains("has no native code, and runs in the interpreter: calls "
                                         "that it does soon begin there"),
                       CompileError);
  kernel({{"x", x}});
  CHECK(kernel.show(Stage::assembly).find("vmulps") != std::string::npos);
}

TEST_CASE(
    "A tiered kernel that has all the patterns that it keeps takes the code that it waits for") {
  const Unverified here;
  setenv("BROADLOOM_PATTERNS", "1", 1);
  const Kernel kernel = kernel_with(10.5, Engine::tiered, 1);
  unsetenv("BROADLOOM_PATTERNS");
  const Array columns = numbers(9, 8).transposed();
  kernel({{"x", columns}});             // interpreted
  kernel.prepare({numbers(1000, 200)}); // the one pattern
  kernel({{"x", columns}});
  CHECK(kernel.engine() == Engine::jit);
  CHECK(kernel.counters().interpreted == 1);
  kernel({{"x", columns}});
  CHECK(kernel.counters().interpreted == 1);
}

TEST_CASE("Many tiered kernels at once are interpreted, and come to their code in turn") {
  const Unverified here;
  const Array x = numbers(3, 4);
  std::vector<Kernel> kernels;
  for (int k = 0; k < 80; ++k) kernels.push_back(kernel_with(100 + k, Engine::tiered, 2));
  for (int turn = 0; turn < 2; ++turn)
    for (const Kernel &kernel : kernels) kernel({{"x", x}});
  for (const Kernel &kernel : kernels) REQUIRE(comes_to_be_native(kernel, x));
  for (int k = 0; k < 80; k += 13)
    CHECK(bytes(kernels[std::size_t(k)]({{"x", x}})[0]) ==
          bytes(kernel_with(100 + k, Engine::interpreter, 1)({{"x", x}})[0]));
}
