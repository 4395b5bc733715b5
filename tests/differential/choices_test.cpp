// Whatever is chosen around the loops of a random kernel, its outputs have one hash. BROADLOOM_FUZZ
// and BROADLOOM_SEED as in differential_test.cpp.
#include "choices.hpp"
#include "same_bits.hpp"

#include <doctest/doctest.h>

namespace broadloom::differential {
namespace {

TEST_CASE("no choice that is made around the loops of a kernel changes a bit") {
  const std::uint64_t first = from_environment("BROADLOOM_SEED", 1);
  constexpr std::uint64_t enough = 2000; // for each choice to be taken
  const std::uint64_t count = from_environment("BROADLOOM_FUZZ", enough);
  ChoicesTally tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Case c = random_choices_case(seed);
    if (const auto changed = find_changed_bit(c, count == 1 ? 20 : 3, tally))
      FAIL_CHECK("seed " << seed << ": " << *changed << "\n" << print(c));
  }
  std::string counts;
  for (const auto &[choice, times] : tally.taken)
    counts += ", " + choice + " " + std::to_string(times);
  counts += "; interpreted " + std::to_string(tally.interpreted);
  for (const auto &[step, times] : tally.steps) counts += "," + step + " " + std::to_string(times);
  MESSAGE(tally.kernels << " kernels, " << tally.gradients << " of them gradients" << counts);
  if (count < enough) return;
  CHECK(tally.refused < std::int64_t(count) / 2);
  CHECK(tally.verified > std::int64_t(count));
  CHECK(tally.recorded > std::int64_t(count) / 2);
  CHECK(tally.interpreted > std::int64_t(count));
  for (const std::string &step : all_steps())
    CHECK_MESSAGE(tally.steps[step] > 0, "no call with '" << step << "' was interpreted");
  for (const std::string &choice : all_choices())
    CHECK_MESSAGE(tally.taken[choice] > 0, choice << " was never taken");
}

} // namespace
} // namespace broadloom::differential
