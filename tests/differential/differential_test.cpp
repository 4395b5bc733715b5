// Random kernels on random layouts: the engines against each other and against the reference.
//
// The interpreter and native code must give equal bits, for any number of threads and any
// instruction set; both must meet the reference as random_spec.hpp says. A shape error must be the
// same error everywhere. BROADLOOM_FUZZ is the number of kernels (default 1200, of which the tests
// beside this one take a share), BROADLOOM_SEED the first seed: a failure prints its seed, and
// `BROADLOOM_SEED=n BROADLOOM_FUZZ=1` runs it alone. `./dev fuzz` runs many more.
#include "engines.hpp"
#include "jit/runtime/paths.hpp"
#include "same_bits.hpp"

#include <doctest/doctest.h>

namespace broadloom::differential {
namespace {

TEST_CASE("interpreter, native code and reference agree on random kernels") {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", default_count);
  Tally tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Case c = random_case(seed, Style::Any);
    const bool thorough = seed % 16 == 0 || count == 1;
    if (const auto mistake = find_mistake(c, {.all_threads = thorough}, tally))
      FAIL_CHECK("seed " << seed << ": " << *mistake << "\n" << print(c));
  }
  MESSAGE(count << " kernels: " << tally.equal << " outputs equal to the reference, "
                << tally.bounded << " within the bound of a sum, " << tally.scheduled_lets
                << " schedules of lets, " << tally.inlined << " arrays inlined");
  if (count >= 100) { // the generator has not gone astray
    CHECK(tally.equal > std::int64_t(count) / 2);
    CHECK(tally.bounded > 0);
    CHECK(tally.generic > std::int64_t(count) / 4);
    CHECK(tally.in_warps > std::int64_t(count) / 20);
    CHECK(tally.in_arenas > std::int64_t(count) / 20);
    CHECK(tally.on_device > std::int64_t(count) / 20);
    CHECK(jit::path_counts()[std::size_t(jit::Path::StepOnDevice)] > std::int64_t(count) / 500);
    CHECK(jit::path_counts()[std::size_t(jit::Path::StepOnHost)] > std::int64_t(count) / 500);
    CHECK(tally.windowed > std::int64_t(count) / 20);
    CHECK(tally.gathered > std::int64_t(count) / 30);
    CHECK(tally.computed > std::int64_t(count) / 80);
    CHECK(tally.scattered > std::int64_t(count) / 40);
    CHECK(tally.arrays > std::int64_t(count) / 80);
    CHECK(tally.loops > std::int64_t(count) / 1000);
    CHECK(tally.ended > std::int64_t(count) / 2000);
    CHECK(jit::path_counts()[std::size_t(jit::Path::LoopEnded)] > std::int64_t(count) / 2000);
    CHECK(jit::path_counts()[std::size_t(jit::Path::LetInTiles)] > std::int64_t(count) / 1000);
    CHECK(tally.joined > std::int64_t(count) / 1000);
    CHECK(tally.placed > std::int64_t(count) / 2000);
    CHECK(tally.said > std::int64_t(count) / 2000);
    CHECK(tally.said_axes > std::int64_t(count) / 500);
    CHECK(tally.extents > std::int64_t(count) / 200);
    CHECK(tally.padded > std::int64_t(count) / 50);
    CHECK(tally.scheduled > std::int64_t(count) / 20);
    CHECK(tally.scheduled_lets > std::int64_t(count) / 100);
    if (count >= 1000) CHECK(tally.inlined > 0); // some one in a hundred
  }
}

} // namespace
} // namespace broadloom::differential
