// A scan whose states go from box to box: native code and the interpreter.
#include "jit/engine/engine.hpp"
#include "tests/unit/native_runs.hpp"
#include "tests/unit/nests.hpp"

namespace broadloom::jit {
namespace {

using namespace loop;
using loop::test::nest;

TEST_CASE("a scan hands its states on from box to box in either direction") {
  for (const bool reverse : {false, true}) {
    const Program p = nest("handed_scan.loop", reverse ? "direction=reverse" : "direction=");
    const auto code = compile_native(p, find_target(""));
    const double in[] = {1, 2, 4, 8, 16};
    const std::vector<double> expected =
        reverse ? std::vector<double>{30, 28, 24, 16, 0} : std::vector<double>{0, 1, 3, 7, 15};
    for (const bool native : {false, true}) {
      double out[5] = {}, state = 99;
      char *buffers[] = {const_cast<char *>(reinterpret_cast<const char *>(in)),
                         reinterpret_cast<char *>(out), reinterpret_cast<char *>(&state)};
      const std::int64_t extents[] = {5}, chunks[] = {0}, strides[] = {1, 1, 0};
      const Frame frame{1, extents, chunks, strides, buffers};
      const auto box = [&](std::int64_t lo, std::int64_t hi) {
        native ? code->phases()[0](&frame, &lo, &hi) : interpret(p, 0, frame, &lo, &hi);
      };
      if (reverse) box(3, 5), box(0, 3);
      if (!reverse) box(0, 2), box(2, 5);
      CHECK(std::vector<double>(out, out + 5) == expected);
      CHECK(state == 31);
    }
  }
}

} // namespace
} // namespace broadloom::jit
