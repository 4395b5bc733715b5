// What a machine was measured to do, as text and between the sizes that were measured.
#include "support/rates.hpp"

#include <doctest/doctest.h>

#include <string>

namespace broadloom::support {
namespace {

Rates example() {
  Rates rates;
  rates.simple_ns = 0.25;
  rates.division_ns = 0.5;
  rates.function_ns = 0.125;
  rates.call_ns = 20;
  rates.share_ns = 3000;
  for (std::size_t k = 0; k < rates.levels.size(); ++k) {
    const double rate = 64 / double(k + 1);
    rates.levels[k] = {Rates::sizes[k], rate, 2 * rate, rate / 2, rate};
  }
  return rates;
}

TEST_CASE("the rates of a machine are read as they were written") {
  const std::string text = to_text(example());
  const auto again = rates_of(text);
  REQUIRE(again);
  CHECK(to_text(*again) == text);
  CHECK(again->levels[3].write_all == example().levels[3].write_all);
}

TEST_CASE("rates with a number that is missing, too many, zero, negative or none are not taken") {
  const std::string text = to_text(example());
  CHECK_FALSE(rates_of(""));
  CHECK_FALSE(rates_of(text.substr(0, text.size() - 1)));
  CHECK_FALSE(rates_of(text + "1\n"));
  CHECK_FALSE(rates_of("broadloom rates 2" + text.substr(17)));
  for (const char *wrong : {"0", "-3", "nan", "inf", "1e300", "x", ""}) {
    std::string other = text;
    const std::size_t at = other.find("3000");
    REQUIRE(at != other.npos);
    CHECK_FALSE(rates_of(other.replace(at, 4, wrong)));
  }
  std::string sizes = text;
  const std::size_t at = sizes.find("16384");
  REQUIRE(at != sizes.npos);
  CHECK_FALSE(rates_of(sizes.replace(at, 5, "16385")));
}

TEST_CASE("between two sizes a rate is between those of the two, beyond them that of the nearest") {
  const Rates rates = example();
  CHECK(rates.read_rate(1, false) == 64);
  CHECK(rates.read_rate(16 << 10, false) == 64);
  CHECK(rates.read_rate(128 << 10, true) == doctest::Approx(64));
  CHECK(rates.read_rate(50'000, false) < 64);
  CHECK(rates.read_rate(50'000, false) > 32);
  CHECK(rates.write_rate(1e12, true) == rates.levels.back().write_all);
}

} // namespace
} // namespace broadloom::support
