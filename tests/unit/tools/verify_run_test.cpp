// What `run --check` makes of a kernel's results: near enough to the reference, or whose mistake it
// is.
#include "tools/broadloom/cli/verify.hpp"

#include "support/check.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace broadloom;

namespace {

// The check of a sum of f32 that gave `result`.
cli::OutputCheck sum_that_gave(const std::string &expression, float result) {
  const LoopSpec spec = parse("kernel k { in x : f32[i]; out z[] = " + expression + " }");
  const Array x(f32, {3}), out(f32, std::initializer_list<std::int64_t>{});
  const Array before(f32, std::initializer_list<std::int64_t>{});
  for (int k = 0; k < 3; ++k) x.data<float>()[k] = float(k + 1);
  *out.data<float>() = result;
  return cli::check_run(spec, {x}, {"z"}, {out}, {before}, Engine::automatic).outputs.at(0);
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

TEST_CASE("a product that leaves the range of its type on the way may be anything") {
  const auto product_that_gave = [](const std::vector<double> &factors, double result) {
    const LoopSpec spec = parse("kernel k { in x : f64[i]; out z = prod(x) }");
    const Array x(f64, {std::int64_t(factors.size())});
    std::copy(factors.begin(), factors.end(), x.data<double>());
    const Array out(f64, std::initializer_list<std::int64_t>{}),
        before(f64, std::initializer_list<std::int64_t>{});
    *out.data<double>() = result;
    return cli::check_run(spec, {x}, {"z"}, {out}, {before}, Engine::automatic)
        .outputs.at(0)
        .passed;
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(product_that_gave({0, 1e200, 1e200, 1}, nan));
  CHECK(product_that_gave({1e-200, 1e-200, 1e200, 1e200}, 0));
  CHECK(product_that_gave({1e-200, 1e-200, 1e200, 1e200}, std::numeric_limits<double>::infinity()));
  CHECK_FALSE(product_that_gave({0, 1e200, 1e100, 1}, nan));
  CHECK_FALSE(product_that_gave({1e-200, 1e-100, 1e200, 2}, 0));
}

TEST_CASE("a wrong derivative is the mistake of the clauses that say it, else ours") {
  const LoopSpec own = parse("def twice(a) = 2 * a\n  derivative a = 3 * g\n"
                             "def four(a) = twice(twice(a))\n"
                             "kernel k { in x : f64[i]; out z = four(x) }");
  const LoopSpec plain = parse("kernel k { in x : f64[i]; out z = 2 * x }");
  cli::require_passed(own, with_slope(Slope::agrees));
  cli::require_passed(own, with_slope(Slope::not_smooth));
  CHECK_THROWS_AS(cli::require_passed(plain, with_slope(Slope::differs)), support::InternalError);
  try {
    cli::require_passed(own, with_slope(Slope::differs));
    FAIL("no error");
  } catch (const SpecError &error) {
    CHECK(error.code() == "E0604");
    CHECK(error.where().line == 2);
    CHECK(error.help().find("'twice'") != std::string::npos);
  }
}

TEST_CASE("numbers that JSON does not have are null") {
  cli::RunCheck check = with_slope(Slope::differs);
  check.gradient.slopes[0].derived = std::numeric_limits<double>::quiet_NaN();
  CHECK(cli::to_json(check) ==
        R"({"passed": false, "outputs": {}, "gradient": [{"output": "z", "input": "x", )"
        R"("slope": "differs", "derived": null, "measured": 1, "difference": 1, )"
        R"("tolerance": 1e-06}]})");
}

namespace {

// A run of one output over x : f64[20, 300], elements 1 to 2, and its check; `spoil` may write to
// the output.
template <class Spoil> cli::OutputCheck check_of(const std::string &expression, Spoil spoil) {
  const LoopSpec spec = parse("kernel k { in x : f64[i, j]; out z = " + expression + " }");
  const Array x(f64, {20, 300});
  for (std::int64_t k = 0; k < x.size(); ++k)
    x.data<double>()[k] = 1 + double(k * 7919 % 104729) / 104729;
  const Results r = compile(spec)({{"x", x}});
  const Array got = r["z"].copy(), before(r["z"].dtype(), r["z"].shape());
  spoil(got);
  return cli::check_run(spec, {x}, {"z"}, {got}, {before}, Engine::automatic).outputs.at(0);
}

void leave(const Array &) {}

} // namespace

TEST_CASE("what cancels to nothing but rounding passes, and so does what that decides") {
  for (const char *expression :
       {"sum(x - mean(x, j), j)", "sum(x - mean(x, j))", "mean(x, j) - sum(x, j) / 300",
        "sqrt(sum(x - mean(x, j), j))", "1 / sum(x - mean(x, j), j)", "x / sum(x - mean(x, j), j)",
        "sum(x - mean(x, j), j) > 0", "floor(300 * mean(x / x, j))", "log(var(x / x, j))",
        "scan(sum, x - mean(x, j), j)", "logsumexp(x - mean(x, j), j) - log(300)",
        "sign(sum(x - mean(x, j), j))", "x * sum(x - mean(x, j), j)"}) {
    INFO(std::string(expression));
    CHECK(check_of(expression, leave).passed);
  }
}

TEST_CASE("what is wrong is found beside what cancels") {
  const auto add = [](double what) { return [=](const Array &z) { z.data<double>()[5] += what; }; };
  CHECK_FALSE(check_of("sum(x - mean(x, j), j)", add(1e-8)).passed);
  CHECK_FALSE(
      check_of("sum(x - mean(x, j))", [](const Array &z) { *z.data<double>() += 1e-6; }).passed);
  CHECK_FALSE(check_of("x * sum(x - mean(x, j), j)", add(1e-8)).passed);
  CHECK_FALSE(check_of("mean(x, j) - sum(x, j) / 300", add(1e-11)).passed);
  CHECK_FALSE(check_of("scan(sum, x - mean(x, j), j)", add(1e-8)).passed);
  CHECK_FALSE(check_of("sum(x - mean(x, j), j)", add(std::nan(""))).passed);
  const auto half_a_row = [](const Array &z) {
    for (int k = 150; k < 300; ++k) z.data<double>()[k] = 0;
  };
  CHECK_FALSE(check_of("x - mean(x, j)", half_a_row).passed);
  CHECK_FALSE(check_of("scan(sum, x - mean(x, j), j)", half_a_row).passed);
}

TEST_CASE("a loop may be off by the rounding of what it begins with") {
  const LoopSpec spec = parse("kernel k { in x : f64[i]; let l[t] = s[t - 1] * 2\n"
                              "let s[t < 3] = s[t - 1] - l[t] from sum(x); out z = l[-1] }");
  const Array x(f64, {3}), z(f64, std::initializer_list<std::int64_t>{});
  const Array before(f64, std::initializer_list<std::int64_t>{});
  for (int k = 0; k < 3; ++k) x.data<double>()[k] = k + 0.1;
  const std::vector<NamedView> inputs{{"x", x}};
  const Results slow = compile(spec, {.engine = Engine::reference}).call(inputs);
  const double right = *slow["z"].data<double>();
  const auto passes = [&](double result) {
    *z.data<double>() = result;
    return cli::check_run(spec, {x}, {"z"}, {z}, {before}, Engine::automatic).outputs.at(0).passed;
  };
  CHECK(passes(std::nextafter(right, 99)));
  CHECK_FALSE(passes(right + 1e-9));
}

TEST_CASE("a join may be off by the rounding of its parts") {
  const LoopSpec spec = parse("kernel k { in x : f64[i, j]; let h[i] = sum(x, j)\n"
                              "out z[2*i] = x[i, 0]; out z[2*i + 1] = h[i] }");
  const Array x(f64, {1, 3}), z(f64, {2}), before(f64, {2});
  for (int k = 0; k < 3; ++k) x.data<double>()[k] = k + 0.1;
  const auto passes = [&](double result) {
    z.data<double>()[0] = 0.1;
    z.data<double>()[1] = result;
    return cli::check_run(spec, {x}, {"z"}, {z}, {before}, Engine::automatic).outputs.at(0).passed;
  };
  CHECK(passes(std::nextafter(3.3, 99)));
  CHECK_FALSE(passes(3.3 + 1e-9));
}
