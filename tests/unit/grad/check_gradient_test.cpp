// bl::check_gradient: what it finds right, what it finds wrong, and where it says that it cannot
// know.
#include "grad/slope.hpp"
#include "grad/widen.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

using D = std::vector<double>;

grad::Measured slope_of(double (*f)(double)) {
  return grad::measure([&](double t) { return D{f(t)}; })[0];
}

// The check of a kernel of one vector x.
GradientCheck checked(const std::string &body, const D &x, const std::string &before = "") {
  const LoopSpec spec = parse(before + "kernel k { in x : f64[i]\n" + body + "\n}");
  return check_gradient(spec, {{"x", View<const double>(x.data(), {std::int64_t(x.size())})}});
}

Slope slope(const std::string &expression, const D &x, const std::string &before = "") {
  return checked("out z = " + expression, x, before).slopes.at(0).slope;
}

std::string code_of(const LoopSpec &spec, const std::vector<NamedView> &inputs,
                    const GradientCheckOptions &options = {}) {
  try {
    check_gradient(spec, std::span(inputs), options);
  } catch (const Error &error) {
    return error.code();
  }
  return "none";
}

} // namespace

TEST_CASE("slopes are measured to many digits, with a bound that holds") {
  const auto near = [](const grad::Measured &m, double slope) {
    CHECK(m.smooth);
    CHECK(std::fabs(m.slope - slope) <= m.error);
    CHECK(m.error < 1e-8);
  };
  near(slope_of([](double t) { return std::exp(t); }), 1);
  near(slope_of([](double t) { return std::sin(3 * t) / (2 + t); }), 1.5);
  near(slope_of([](double t) { return 5 + t * t * std::fabs(t); }), 0);
  near(slope_of([](double) { return 7.0; }), 0);
}

TEST_CASE("corners, jumps, infinite slopes and edges of the domain are not smooth") {
  CHECK_FALSE(slope_of([](double t) { return std::fabs(t); }).smooth);
  CHECK_FALSE(slope_of([](double t) { return t > 0 ? 2 * t : t; }).smooth);
  CHECK_FALSE(slope_of([](double t) { return t > 0 ? 1.0 : 0.0; }).smooth);
  CHECK_FALSE(slope_of([](double t) { return std::cbrt(t); }).smooth);
  CHECK_FALSE(slope_of([](double t) { return std::sqrt(t); }).smooth);
  CHECK_FALSE(slope_of([](double t) { return 1 / t; }).smooth);
  CHECK_FALSE(slope_of([](double t) { return std::floor(4096 * t + 1000.5); }).smooth);
}

TEST_CASE("a corner further away is stepped under") {
  const grad::Measured m = slope_of([](double t) { return std::fabs(t - 1e-4) + t; });
  CHECK(m.smooth);
  CHECK(m.slope == doctest::Approx(0));
}

TEST_CASE("every output is checked by every input that is real or complex") {
  const LoopSpec spec =
      parse("kernel k { in x : f32[i, j]; in n : i32[i]; in c : c64[j]\n"
            "out z = x * n * abs(c)\nout m = max(x, j)\nout w = c * x\nout q = n }");
  const std::vector<float> x{1, 2, 3, 4, 5, 6.5};
  const std::vector<std::int32_t> n{2, -3};
  const std::vector<std::complex<float>> c{{1, 2}, {0, 3}, {-1, 0.5}};
  const GradientCheck check =
      check_gradient(spec, {{"x", View<const float>(x.data(), {2, 3})},
                            {"n", View<const std::int32_t>(n.data(), {2})},
                            {"c", View<const std::complex<float>>(c.data(), {3})}});
  CHECK(check.passed());
  std::string pairs;
  for (const SlopeCheck &s : check.slopes) {
    CHECK(s.slope == Slope::agrees);
    CHECK(s.left_out == 0);
    pairs += s.output + s.input + " ";
  }
  CHECK(pairs == "zx zc mx mc wx wc ");
  CHECK(check.worst().difference <= check.worst().tolerance);
}

TEST_CASE("rounding to narrow types does not stand in the way, in definitions neither") {
  const std::string own = "accumulator own(s; m) { init s = 0; step s = s + f16(m) * m }\n"
                          "def half(a) = f16(a) * f32(a)\n";
  CHECK(slope("own(half(x), i) + f16(x)", {0.3, -1.7, 1.1}, own) == Slope::agrees);
  const LoopSpec spec = parse("kernel k { in x : f16[i]; out z : f16 = sum(x * x, acc=f32) }");
  CHECK(grad::widened(spec.data()).inputs[0]->dtype == f64);
  CHECK(print(LoopSpec(std::make_shared<const SpecData>(grad::widened(spec.data())))) ==
        "kernel k {\n  in  x : f64[i]\n  out z : f64 = sum(x * x, acc=f64)\n}\n");
}

TEST_CASE("what cannot be compared is told apart from what is wrong") {
  CHECK(slope("abs(x)", {0}) == Slope::not_smooth);
  CHECK(slope("max(x)", {0, 0, 0}) == Slope::not_smooth);
  CHECK(slope("sqrt(x)", {0}) == Slope::not_smooth);
  CHECK(slope("log(x)", {-1}) == Slope::not_smooth);
  CHECK(slope("where(x > 0, log(x), 0)", {-1, 2}) == Slope::agrees);
  CHECK(slope("f64(argmax(x)) * x", {1, 2}) == Slope::no_gradient);
}

TEST_CASE("corners of operations that the value does not show are told apart from wrong slopes") {
  const D ties{0.5, 2, 2};
  CHECK(slope("fmin(max(x), x)", ties) != Slope::differs);
  CHECK(slope("fmin(max(x), x)", {0.5, 2, 1}) == Slope::agrees);
  CHECK(slope("fmin(max(x), x) * iota(i)", ties) != Slope::differs);
  CHECK(slope("scan(sum, acosh(x), i, exclusive)", {2, 0.5}) != Slope::differs); // 0 * NaN
  CHECK(slope("asin(x / x) + x", {0.3, 0.7}) == Slope::not_smooth);              // inf * 0
  CHECK(slope("cbrt(x - x) + x", {0.3, 0.7}) == Slope::not_smooth);
  CHECK(slope("minimum(x, 3) ^ (x / x)", {-1, -2}) == Slope::not_smooth);
  // Of the two that meet, the element below the greatest is not made of it.
  const std::string wrong = "def f(a) = a * a\nderivative a = 3 * a * g\n";
  CHECK(slope("fmin(max(f(x)), f(x))", ties, wrong) == Slope::differs);
}

TEST_CASE("a slope that is no number is wrong where all on the way is smooth") {
  const std::string wrong = "def f(a) = a * a\n  derivative a = 2 * a * a / a * g\n";
  CHECK(slope("f(x)", {0.5, 2}, wrong) == Slope::agrees);
  CHECK(slope("f(x) + x", {0, 2}, wrong) == Slope::differs);
  CHECK(slope("where(x < -1, log(x), f(x) + x)", {0.5, 0}, wrong) == Slope::differs);
  CHECK(slope("exp(-1e3 * x) * 1e-200 / x", {1e-200}) != Slope::differs); // the slope is beyond f64
}

TEST_CASE("a corner of one input does not hide what another one differs by") {
  const std::string wrong = "def f(a) = a * a\n  derivative a = g * a\n";
  const LoopSpec spec = parse(wrong + "kernel k { in x : f64; in y : f64; out z = f(x) + abs(y) }");
  const double one = 1, zero = 0;
  const GradientCheck check = check_gradient(
      spec, {{"x", View<const double>(&one, {})}, {"y", View<const double>(&zero, {})}});
  CHECK(check.slopes.at(0).slope == Slope::differs);
  CHECK(check.slopes.at(1).slope == Slope::not_smooth);
}

TEST_CASE("a corner at one element does not hide the others") {
  const SlopeCheck s = checked("out z = abs(x) * x + abs(x)", {0, 1, -2}).slopes.at(0);
  CHECK(s.slope == Slope::agrees);
  CHECK(s.left_out > 0);
  CHECK(describe(s).find("; not smooth at ") != std::string::npos);
  CHECK(slope("sum(abs(x))", {0, 1, -2}) == Slope::agrees); // one element at a time
}

TEST_CASE("a derivative clause that is wrong never agrees") {
  const std::string wrong = "def twice(a) = 2 * a\n  derivative a = 3 * g\n";
  CHECK(slope("twice(x)", {0.5, 1}, wrong) != Slope::agrees);
  CHECK(slope("x + twice(x) ^ 2", {0.5, 1}, wrong) != Slope::agrees);
}

TEST_CASE("the same seed gives the same check, and another one other directions") {
  const D x{0.1, 0.2, 0.3};
  const LoopSpec spec = parse("kernel k { in x : f64[i]; out z = exp(x) }");
  const auto derived = [&](std::uint64_t seed) {
    return check_gradient(spec, {{"x", View<const double>(x.data(), {3})}}, {.seed = seed})
        .worst()
        .derived;
  };
  CHECK(derived(1) == derived(1));
  CHECK(derived(1) != derived(2));
}

TEST_CASE("a request that cannot be met is an error") {
  const D x{1, 2};
  const LoopSpec spec = parse("kernel k { in x : f64[i]; in n : i32; out z = x * n; out q = n }");
  const std::int32_t n = 1;
  const NamedView xv{"x", View<const double>(x.data(), {2})},
      nv{"n", View<const std::int32_t>(&n, {})};
  CHECK(code_of(spec, {xv, nv}) == "none");
  CHECK(code_of(spec, {xv}) == "E0308");
  CHECK(code_of(spec, {xv, {"n", View<const double>(x.data(), {})}}) == "E0203");
  CHECK(code_of(spec, {xv, nv}, {.wrt = {"y"}}) == "E0003");
  CHECK(code_of(spec, {xv, nv}, {.wrt = {"n"}}) == "E0603");
  CHECK(code_of(spec, {xv, nv}, {.of = {"q"}}) == "E0603");
  CHECK_THROWS_AS(GradientCheck().worst(), DataError);
}

TEST_CASE("what is infinite or no number inside is not smooth, though the value is") {
  const D x{0.5, -1.25, 3};
  for (const char *expression : {"cbrt(x - x)", "sqrt(x - x)", "sum(cbrt(x - x), i)"})
    CHECK(slope(expression, x) == Slope::not_smooth);
  CHECK(slope("(-x) ^ (x / x)", x) != Slope::differs);
  CHECK(slope("cbrt(x - x + 1) * x", x) == Slope::agrees);
}

TEST_CASE("a value that is smooth, but made of what has a corner, is not smooth; its other "
          "elements count") {
  // Two least elements: min has a corner, and what flows back through it is shared.
  CHECK(slope("fmax(min(x, i), x)", {1, 1, 3}) != Slope::differs);
  CHECK(slope("fmax(min(x, i), x)", {1, 2, 3}) == Slope::agrees);
  CHECK(slope("abs(x) * abs(x) / x + maximum(x, -x) - abs(x)", {2, -1, 3}) == Slope::agrees);
  const std::string wrong = "def f(a) = a * a\n  derivative a = g * a\n"; // half of what is right
  CHECK(slope("f(x) + fmax(min(x, i), x)", {1, 2, 3}, wrong) == Slope::differs);
  CHECK(slope("where(x > 0, f(x), log(x))", {1, -2, 3}, wrong) == Slope::differs);
}

TEST_CASE("extents that positions and outputs name are of the inputs as they are checked") {
  const float v[5] = {0.1f, 0.7f, 0.4f, 0.9f, 0.2f};
  for (const char *body :
       {"let s[r] = parts(v[q + 1] at [q + extent(v, 0)], v[q] at [q]); out y = sum(exp(s[r]), r)",
        "out y[i < extent(v, 0) - 2] = exp(v[i + 1])",
        "let h[i < extent(v, 0) - 1] = exp(v[i + 0]); out y = sum(h[k], k)",
        "let h[i < 2, j < 3] = tanh(v[i + 0]); out y = min(h[u, 0], u)", // the same for all j
        "let h[t < 4, i < 3] = h[t - 1, 0] / 2 + max(v[i + u], u < 2) from v[0]; out y[i] = h[-1, "
        "i]"}) {
    CAPTURE(body);
    const LoopSpec spec = parse("kernel k { in v : f32[:]; " + std::string(body) + " }");
    CHECK(check_gradient(spec, std::vector<NamedView>{{"v", View<const float>(v, {5})}}).passed());
  }
}
