// The statistics of times, on times that are made up: what a clock says is in no test.
#include "tools/broadloom/cli/roofline.hpp"
#include "tools/broadloom/cli/rounds.hpp"

#include <doctest/doctest.h>

using namespace broadloom::cli;
using doctest::Approx;

TEST_CASE("percentiles lie between the values in proportion") {
  const Spread spread = spread_of({5, 1, 2, 4, 3});
  CHECK(spread.low == Approx(1.4));
  CHECK(spread.median == 3);
  CHECK(spread.high == Approx(4.6));
  CHECK(spread_of({1, 2}).median == 1.5);
  CHECK(spread_of({7}).low == 7);
  CHECK(spread_of({}).median == 0);
}

TEST_CASE("a machine is busy where most times differ, not where a single one does") {
  std::vector<double> times(20, 100);
  times[3] = 9000;
  CHECK(unrest(spread_of(times)) == 1);
  for (int k = 0; k < 5; ++k) times[std::size_t(k)] = 200;
  CHECK(unrest(spread_of(times)) == 2);
  CHECK(unrest(spread_of(times)) > most_quiet);
  CHECK(unrest(Spread{}) == 1);
}

TEST_CASE("ratios of the same round stay what they are when a machine slows down") {
  const std::vector<double> roof{50, 50, 150, 50, 100}, kernel{100, 100, 300, 100, 200};
  const Spread ratio = paired_ratio(roof, kernel);
  CHECK(ratio.low == 0.5);
  CHECK(ratio.median == 0.5);
  CHECK(ratio.high == 0.5);
}

TEST_CASE("all ways run in each round, and their calls are counted") {
  int first = 0, second = 0;
  const Rounds rounds = alternate({[&] { ++first; }, [&] { ++second; }}, 0);
  REQUIRE(rounds.ns.size() == 2);
  CHECK(rounds.ns[0].size() == 5);
  CHECK(rounds.ns[1].size() == 5);
  CHECK(rounds.calls[0] <= first);
  CHECK(rounds.calls[1] >= 5);
}

TEST_CASE(
    "the roof of a round is the slower of the faster way to move bytes and of the arithmetic") {
  const Work work{.points = 10, .operations = 40, .bytes = 800, .wide = false};
  // Of 400 bytes and 20 operations in a call: the work has twice as many.
  const Rounds rounds{{{100, 400}, {30, 80}, {20, 120}, {10, 90}}, {6, 2, 2, 2}};
  const Measured measured = held_against_roof(rounds, work, 400, 20);
  CHECK(measured.share.median == Approx((0.4 + 0.45) / 2)); // 40 by memory, 180 by arithmetic
  CHECK(measured.ns.median == 250);
  CHECK(measured.memory_ns == 100);     // of 40 and 160
  CHECK(measured.arithmetic_ns == 100); // of 20 and 180
  CHECK(measured.calls == 6);
  CHECK(measured.unrest == Approx(166.0 / 54));
}

TEST_CASE("work without operations has no bound by arithmetic") {
  const Work work{.points = 10, .operations = 0, .bytes = 400, .wide = false};
  const Measured measured = held_against_roof({{{100}, {30}, {50}}, {1, 1, 1}}, work, 400, 20);
  CHECK(measured.share.median == Approx(0.3));
  CHECK(measured.arithmetic_ns == 0);
}
