// Gradients that share something out: the weights must sum to what is shared, at ties and at any
// magnitude. Values are those of 50 digits (mpmath).
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

using D = std::vector<double>;
constexpr double inf = std::numeric_limits<double>::infinity();

template <class T = double>
LoopSpec derived(const std::string &expression, const std::string &before = "") {
  return gradient(parse(before + "kernel k { in x : " + std::string(name(dtype_of<T>())) +
                        "[i]; out z = " + expression + " }"),
                  {"x"});
}

// d_x for d_z = 1, the same from the interpreter and from native code.
template <class T> D slope(const LoopSpec &spec, const std::vector<T> &x, bool scalar) {
  const std::vector<T> ones(scalar ? 1 : x.size(), 1);
  const View<const T> xv(x.data(), {std::int64_t(x.size())});
  const auto gv = scalar ? View<const T>(ones.data(), {})
                         : View<const T>(ones.data(), {std::int64_t(ones.size())});
  D first;
  for (const Engine engine : {Engine::interpreter, Engine::automatic}) {
    const Results r = compile(spec, {.engine = engine})({{"x", xv}, {"d_z", gv}});
    const T *values = r["d_x"].data<T>();
    const D now(values, values + x.size());
    if (engine == Engine::automatic) CHECK(now == first);
    first = now;
  }
  return first;
}

double total(const D &d) { return std::accumulate(d.begin(), d.end(), 0.0); }

void check_near(const D &got, const D &want, double ulps) {
  REQUIRE(got.size() == want.size());
  for (std::size_t k = 0; k < got.size(); ++k)
    CHECK(std::fabs(got[k] - want[k]) <= ulps * 0x1p-52 * std::fabs(want[k]));
}

const std::string greatest = "accumulator greatest(m; x) { init m = -inf; step m = maximum(m, x)\n"
                             "combine m = maximum(m, m_other) }\n";

} // namespace

TEST_CASE(
    "the weights of an accumulator with a combine sum to 1 at ties, whatever blocks are joined") {
  for (const std::size_t n : {1, 2, 10, 100'000})
    CHECK(total(slope(derived("greatest(x)", greatest), D(n, 3.0), true)) == 1);
  CHECK(slope(derived("greatest(x)", greatest), D{3, 1, 3, 3}, true) == D{0.25, 0, 0.25, 0.5});
  // As without the combine.
  const std::string in_order =
      "accumulator greatest(m; x) { init m = -inf; step m = maximum(m, x) }\n";
  D x;
  for (int k = 0; k < 5000; ++k) x.push_back(k % 7 == 0 ? 2 : k % 5);
  CHECK(slope(derived("greatest(x)", greatest), x, true) ==
        slope(derived("greatest(x)", in_order), x, true));
}

TEST_CASE("states with a combine that flow into each other are derived in blocks, too many of them "
          "in order") {
  const std::string pairs =
      "accumulator pairs(s, q; x) { init s = 0., q = 0.; step s = s + x, q = q + s * x\n"
      "combine s = s + s_other, q = q + q_other + s * s_other; result q }\n";
  D x;
  for (int k = 0; k < 3000; ++k) x.push_back(0.25 * (k % 9) - 1);
  const double sum = total(x);
  const LoopSpec spec = derived("pairs(x)", pairs);
  CHECK(print(spec).find("l_q_to_s") != std::string::npos);
  const D d = slope(spec, x, true); // sum of all others
  for (std::size_t k = 0; k < x.size(); k += 299) CHECK(d[k] == sum - x[k]);
  const std::string ring =
      "accumulator ring(a, b, c, d, e; x) { init a = 1., b = 0., c = 0., d = 0., e = 0.\n"
      "step a = a + x * b, b = b + x * c, c = c + x * d, d = d + x * e, e = e + x * a\n"
      "combine a = a + a_other, b = b_other, c = c_other, d = d_other, e = e_other }\n";
  CHECK(print(derived("ring(x)", ring)).find("ring_back") != std::string::npos);
}

TEST_CASE("the weights of logsumexp sum to 1 at any magnitude") {
  const LoopSpec narrow = derived<float>("logsumexp(x)"), wide = derived("logsumexp(x)");
  for (const float offset : {0.f, 1e4f, 1e7f, -1e9f, 1e30f}) {
    std::vector<float> x;
    for (int k = 0; k < 100; ++k) x.push_back(offset + 0.37f * float(k % 11));
    CHECK(std::fabs(total(slope(narrow, x, true)) - 1) <= 0x1p-23);
  }
  CHECK(slope(narrow, std::vector<float>(5, 1e9f), true) == D(5, double(0.2f)));
  CHECK(slope(wide, D{1000, 1000}, true) == D{0.5, 0.5});
  check_near(slope(wide, D{1000, 1000.5, 998.25}, true),
             {0.35429643777126788268, 0.58413607308677366145, 0.061567489141958455876}, 3);
}

TEST_CASE("a scan of logsumexp weighs without cancelling, and shares at infinity") {
  check_near(slope(derived("scan(logsumexp, x, i)"), D{1e9 + 1, 1e9, 1e9 - 3}, false),
             {2.4524577629039735335, 0.53432935014223705108, 0.013212886953789415395}, 4);
  const D x{-inf, 0, inf, 2, inf};
  CHECK(slope(derived("scan(logsumexp, x, i)"), x, false) == D{0, 1, 2.5, 0, 0.5});
  CHECK(slope(derived("scan(logsumexp, x, i, exclusive)"), x, false) == D{0, 1, 2, 0, 0});
  CHECK(slope(derived("scan(logsumexp, x, i, reverse)"), x, false) == D{0, 0, 1.5, 0, 3.5});
  CHECK(slope(derived("scan(logsumexp, x, i)"), D{-inf, -inf}, false) == D{0, 0});
  // In parallel blocks: each prefix shares out 1.
  D long_one;
  for (int k = 0; k < 200'000; ++k) long_one.push_back(1e3 * std::sin(0.001 * k) + k % 3);
  CHECK(std::fabs(total(slope(derived("scan(logsumexp, x, i)"), long_one, false)) / 2e5 - 1) <
        1e-13);
}

TEST_CASE("the slope of a slope holds at ties, too") {
  const auto twice = [](const std::string &expression, const D &x) {
    const LoopSpec first = gradient(
        parse("kernel k { in x : f64[i]; in y : f64[i]; out z = " + expression + " }"), {"x"});
    const D y = x, one{1};
    const bool scalar = expression.rfind("logsumexp", 0) == 0;
    const D g(scalar ? 1 : x.size(), 1);
    const std::vector<std::int64_t> shape{std::int64_t(x.size())};
    const GradientCheck check = check_gradient(
        first,
        {{"x", View<const double>(x.data(), shape)},
         {"y", View<const double>(y.data(), shape)},
         {"d_z", scalar ? View<const double>(g.data(), {}) : View<const double>(g.data(), shape)}});
    for (const SlopeCheck &slope : check.slopes)
      CHECK_MESSAGE(slope.slope == Slope::agrees, describe(slope));
  };
  twice("logsumexp(x + 0 * y)", {1, 1, 1, 0.5});
  twice("logaddexp(x, y)", {1, 2});
  twice("scan(logsumexp, x + y, i)", {1, 1, 0.5, 1});
}

TEST_CASE("centred f64 data keep their digits far from 0") {
  CHECK(slope(derived("var(x)"), D{1e16, 1e16 + 2, 1e16 + 4, 1e16 + 10}, true) == D{-2, -1, 0, 3});
  check_near(slope(derived("std(x)"), D{1e16, 1e16 + 2}, true), {-0.5, 0.5}, 1);
}

TEST_CASE("scans of norm and std are flat where folds are") {
  CHECK(slope(derived("scan(norm, x, i)"), D{0, 0, 3, 0}, false) == D{0, 0, 2, 0});
  const D d = slope(derived("scan(std, x, i)"), D{2, 2, 2}, false);
  CHECK(d == D{0, 0, 0});
}
