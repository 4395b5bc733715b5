// What `run --check` makes of a kernel's results: near enough to the reference, or whose mistake it is.
#include "tools/repl/verify.hpp"

#include "support/check.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace broadloom;

namespace {

// The check of a sum of f32 that gave `result`.
cli::OutputCheck sum_that_gave(const std::string &expression, float result) {
  const LoopSpec spec = parse("kernel k { in x : f32[i]; out z[] = " + expression + " }");
  const Array x(f32, {3}), out(f32, std::initializer_list<std::int64_t>{});
  const Array before(f32, std::initializer_list<std::int64_t>{});
  for (int k = 0; k < 3; ++k) x.data<float>()[k] = float(k + 1);
  *out.data<float>() = result;
  return cli::check_run(spec, {x}, {"z"}, {out}, {before}, Engine::Auto).outputs.at(0);
}

cli::RunCheck with_slope(Slope slope) {
  cli::RunCheck check;
  check.gradient.slopes.push_back({"z", "x", slope, 1, 2, 1, 1e-6, 3, 0, ""});
  return check;
}

} // namespace

TEST_CASE("a fold may be off by its rounding, and anything else by nothing") {
  CHECK(sum_that_gave("reduce(sum) x", 6).difference == 0);
  const cli::OutputCheck near = sum_that_gave("reduce(sum) x", std::nextafterf(6, 7));
  CHECK(near.passed);
  CHECK(near.difference > 0);
  CHECK(near.difference < near.tolerance);
  CHECK_FALSE(sum_that_gave("reduce(sum) x", 6.01f).passed);
  CHECK(sum_that_gave("reduce(max) x", 3).passed);
  CHECK_FALSE(sum_that_gave("reduce(max) x", std::nextafterf(3, 4)).passed);
  CHECK_FALSE(sum_that_gave("reduce(sum) x", std::numeric_limits<float>::quiet_NaN()).passed);
  CHECK_FALSE(sum_that_gave("reduce(sum) x", std::numeric_limits<float>::infinity()).passed);
}

TEST_CASE("a wrong derivative is the mistake of the clauses that say it, else ours") {
  const LoopSpec own = parse("def twice(a) = 2 * a\n  derivative a = 3 * g\n"
                             "def four(a) = twice(twice(a))\n"
                             "kernel k { in x : f64[i]; out z = four(x) }");
  const LoopSpec plain = parse("kernel k { in x : f64[i]; out z = 2 * x }");
  cli::require_passed(own, with_slope(Slope::Agrees));
  cli::require_passed(own, with_slope(Slope::NotSmooth));
  CHECK_THROWS_AS(cli::require_passed(plain, with_slope(Slope::Differs)), support::InternalError);
  try {
    cli::require_passed(own, with_slope(Slope::Differs));
    FAIL("no error");
  } catch (const SpecError &error) {
    CHECK(error.code() == "E0604");
    CHECK(error.where().line == 2);
    CHECK(error.help().find("'twice'") != std::string::npos);
  }
}

TEST_CASE("numbers that JSON does not have are null") {
  cli::RunCheck check = with_slope(Slope::Differs);
  check.gradient.slopes[0].derived = std::numeric_limits<double>::quiet_NaN();
  CHECK(cli::to_json(check) ==
        R"({"passed": false, "outputs": {}, "gradient": [{"output": "z", "input": "x", )"
        R"("slope": "differs", "derived": null, "measured": 1, "difference": 1, )"
        R"("tolerance": 1e-06}]})");
}
