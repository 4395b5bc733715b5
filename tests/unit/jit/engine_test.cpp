// Native code as such: made on several threads, for a target by name, as texts. What it computes:
// nests_test.cpp.
#include "jit/engine/engine.hpp"
#include "jit/engine/object.hpp"
#include "jit/native/on_threads.hpp"
#include "tests/unit/loop_programs.hpp"
#include "tests/unit/native_runs.hpp"

#include <broadloom/broadloom.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace broadloom::jit {
namespace {

using namespace loop;
using namespace loop::test;

TEST_CASE("code may be made on several threads at once and goes with its last owner") {
  const Target target = find_target("");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) compile_native(row_sums(), target);
    });
  }
  for (std::thread &thread : threads) thread.join();
  const auto code = compile_native(row_sums(), target);
  CHECK(code->phases().size() == 1);
  CHECK(code->code_bytes() > 0);
}

TEST_CASE("a large program is made in parts, the same ones for any number of threads") {
  block::Weights weights;
  weights.phases = {100, 20, 300, 50, 130};
  const auto parts = parts_of(weights);
  REQUIRE(parts.size() == 4);
  CHECK(parts[0] == std::vector<std::size_t>{2});
  CHECK(parts[1] == std::vector<std::size_t>{4});
  CHECK(parts[2] == std::vector<std::size_t>{0});
  CHECK(parts[3] == std::vector<std::size_t>{1, 3});
  weights.phases = {100, 40};
  CHECK(parts_of(weights) == std::vector<std::vector<std::size_t>>{{0, 1}});
  weights.phases = {5000};
  CHECK(parts_of(weights).size() == 1);
}

TEST_CASE("work on several threads is all done, and what its first part throws comes out") {
  for (const int threads : {1, 2, 7}) {
    std::vector<int> done(100);
    on_threads(done.size(), threads, [&](std::size_t k) { ++done[k]; });
    CHECK(std::ranges::count(done, 1) == 100);
    std::atomic<int> begun{0};
    const auto fail = [&](std::size_t k) {
      ++begun;
      if (k == 3 || k == 40) throw std::runtime_error(std::to_string(k));
    };
    CHECK_THROWS_WITH(on_threads(100, threads, fail), "3");
    CHECK(begun == 100);
  }
}

TEST_CASE("hundreds of kernels that live side by side take few mappings of memory") {
  const auto mappings = [] {
    std::ifstream file("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(file, line);) {
      CHECK(line.find(" rwx") == line.npos);
      count += line.find("r-xp 00000000 00:00 0 ") != line.npos;
    }
    return count;
  };
  std::vector<Kernel> alive;
  const Array x(DType::F64, {100}), y(DType::F64, {100});
  const int before = mappings();
  for (int k = 0; k < 300; ++k) {
    alive.push_back(compile(broadloom::parse("kernel k { in x : f64[i]; out y = exp(x) * x + " +
                                             std::to_string(k) + ".125 }"),
                            {.threads = 1, .engine = Engine::jit}));
    alive.back().run({x}, {y});
    REQUIRE(y.data<double>()[99] == k + 0.125);
  }
  CHECK(mappings() < before + 20);
}

TEST_CASE("a child that is forked while LLVM starts on another thread can compile") {
  setenv("BROADLOOM_CACHE", "0", 1);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const Options options{.threads = 2};
    const auto run = [&] {
      const Kernel kernel =
          compile(broadloom::parse("kernel k { in x : f32[:]; out y = x + 1 }"), options);
      const float in[] = {1, 2, 3};
      const Results results = kernel({{"x", View<const float>(in, {3})}});
      return results[0].data<float>()[2] == 4;
    };
    const Kernel begins = compile(broadloom::parse("kernel k { in x : f32[:]; out y = exp(x) }"),
                                  options); // the start
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      alarm(60);
      _exit(run() ? 0 : 1);
    }
    int status = 1;
    waitpid(grandchild, &status, 0);
    _exit(run() && status == 0 ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("an unknown target is refused by its name") {
  try {
    find_target("pentium");
    FAIL("no error");
  } catch (const CompileError &error) {
    CHECK(error.code() == "E0503");
    CHECK(error.message().find("pentium") != std::string::npos);
  }
}

TEST_CASE("the texts of a program show its phases") {
  const Target target = find_target("");
  const block::Program blocks = blocks_of(row_sums(), target);
  CHECK(llvm_text(row_sums(), blocks, target).find("define void @phase_0(ptr %frame") !=
        std::string::npos);
  CHECK(asm_text(row_sums(), blocks, target).find("phase_0:") != std::string::npos);
}

} // namespace
} // namespace broadloom::jit
