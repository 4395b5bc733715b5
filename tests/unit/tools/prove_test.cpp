// The prover on functions that are wrong on purpose: what it must not overlook.
#include "tools/prove/prove.hpp"
#include "tools/prove/report.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace broadloom;
using namespace broadloom::prove;

namespace {

using Form = jit::ArrayForm<float>;
template <class T> using Function = T (*)(T);

template <class T, Function<T> function> void over(std::size_t n, const T *x, const T *, T *out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = function(x[i]);
}

// exp as it should be: from f64, which is right but for a few ties.
float good(float x) { return float(std::exp(double(x))); }
float too_great(float x) { // by two steps, at one argument
  const float step = std::numeric_limits<float>::infinity();
  return x == 1.0f ? std::nextafter(std::nextafter(good(x), step), step) : good(x);
}
float finite_at_infinity(float x) {
  return x == std::numeric_limits<float>::infinity() ? std::numeric_limits<float>::max() : good(x);
}
float number_for_nan(float x) { return std::isnan(x) ? 0.0f : good(x); }
float wrong_zero(float x) { return std::isinf(x) && x < 0 ? -0.0f : good(x); }
double two_steps(double x) { return x * (1 + 0x1p-51); }

// All floats that share their upper bits with 1, the infinities and NaNs, and few others.
const Options few = [] {
  Options options;
  options.stride = 1 << 16;
  options.scalar_every = 1;
  return options;
}();

Finding<float> found_of(jit::OverArrays<float> scalar, jit::OverArrays<float> vector) {
  const Form forms[] = {{"exp", Accuracy::high, 1, scalar, vector, vector}};
  return prove::prove<float>("exp", forms, few).findings.at(0);
}

} // namespace

TEST_CASE("The prover finds nothing in a good function") {
  const Finding<float> found = found_of(over<float, good>, over<float, good>);
  CHECK(found.misrounded == 0);
  CHECK(found.worst == 0.5);
  CHECK(found.unequal == 0);
}

TEST_CASE("The prover finds one argument of which the result is two steps off") {
  const Finding<float> found = found_of(over<float, too_great>, over<float, too_great>);
  CHECK(found.misrounded == 1);
  CHECK(found.worst_x == 1.0f);
  CHECK(found.worst > 1.5);
  CHECK(found.worst < 2.5);
  REQUIRE(found.examples.size() == 1);
  CHECK(found.examples[0].first == 1.0f);
}

TEST_CASE("The prover finds wrong infinities, NaNs and zeros") {
  const double never = std::numeric_limits<double>::infinity();
  CHECK(found_of(over<float, number_for_nan>, over<float, number_for_nan>).worst == never);
  CHECK(found_of(over<float, wrong_zero>, over<float, wrong_zero>).worst == never);
  CHECK(found_of(over<float, finite_at_infinity>, over<float, finite_at_infinity>).worst == never);
}

TEST_CASE("The prover finds a scalar form that differs from the vector forms") {
  if (!jit::has_v3()) return; // nothing to differ from
  const Finding<float> found = found_of(over<float, too_great>, over<float, good>);
  CHECK(found.unequal == 1);
  CHECK(found.unequal_x == 1.0f);
}

TEST_CASE("The prover measures f64 in its own ulps") {
  Options options;
  options.samples = 1000;
  const auto form = over<double, two_steps>;
  const jit::ArrayForm<double> forms[] = {{"cbrt", Accuracy::high, 1, form, form, form}};
  CHECK(prove::prove<double>("cbrt", forms, options).findings.at(0).worst > 4);
}

template <class T> void check_all_within_one_ulp(std::uint64_t samples) {
  Options options;
  options.samples = samples;
  options.scalar_every = 1;
  for (const Finding<T> &found : prove::prove<T>("logaddexp", options).findings) {
    CAPTURE(found.worst_x);
    CAPTURE(found.worst_y);
    CHECK(found.worst <= 1.0);
    CHECK(found.unequal == 0);
    if (found.accuracy == Accuracy::exact) CHECK(found.misrounded == 0);
  }
}
TEST_CASE("logaddexp is within one ulp of the result next to e^x + e^y = 1, too") {
  check_all_within_one_ulp<float>(300'000);
  check_all_within_one_ulp<double>(100'000);
}

TEST_CASE("A report takes the place of the rows of its functions and leaves the others") {
  const TempFolder folder;
  const std::string page = folder.write(
      "page.md", "before\n<!-- t: begin -->\n| f | d | m | x |\n| --- | --- | --- | --- |\n"
                 "| exp | f32 | high | old |\n| log | f32 | high | kept |\n"
                 "<!-- t: end -->\nafter\n");
  update_table(page, "t", {{"exp", "f32", "high", "new"}}, {"log", "exp"});
  CHECK(folder.read("page.md") ==
        "before\n<!-- t: begin -->\n| f | d | m | x |\n| --- | --- | --- | --- |\n"
        "| log | f32 | high | kept |\n| exp | f32 | high | new |\n"
        "<!-- t: end -->\nafter\n");
  CHECK_THROWS(update_table(page, "no such table", {}, {}));
}
