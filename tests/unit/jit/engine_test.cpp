// Native code as such: made on several threads, for a target by name, as texts. What it computes: nests_test.cpp.
#include "tests/unit/loop_programs.hpp"
#include "tests/unit/native_runs.hpp"

#include <thread>

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
