// Gradients: the text that is derived, its values at the edges, and central differences elsewhere.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

using D = std::vector<double>;
constexpr double inf = std::numeric_limits<double>::infinity();

LoopSpec kernel(const std::string &body, const std::string &before = "") {
  return parse(before + "kernel k {\n" + body + "\n}");
}

std::string text(const std::string &body, const std::vector<std::string> &wrt,
                 const GradientOptions &options = {}) {
  return print(gradient(kernel(body), wrt, options));
}

D values(const Array &a) { return D(a.data<double>(), a.data<double>() + a.size()); }

// d_x of `out z = expression` for a vector x and d_z = 1, the same from interpreter and native
// code.
D slope(const std::string &expression, const D &x, const std::string &before = "",
        bool scalar = false) {
  const LoopSpec spec = gradient(kernel("in x : f64[i]\nout z = " + expression, before), {"x"});
  const D ones(scalar ? 1 : x.size(), 1);
  const View<const double> xv(x.data(), {std::int64_t(x.size())});
  const auto gv = scalar ? View<const double>(ones.data(), {})
                         : View<const double>(ones.data(), {std::int64_t(ones.size())});
  D first;
  for (const Engine engine : {Engine::interpreter, Engine::automatic}) {
    Options options;
    options.engine = engine;
    const Results results = compile(spec, options)({{"x", xv}, {"d_z", gv}});
    const D now = values(results["d_x"]);
    if (engine == Engine::automatic)
      for (std::size_t k = 0; k < now.size(); ++k)
        CHECK((now[k] == first[k] || (std::isnan(now[k]) && std::isnan(first[k]))));
    first = now;
  }
  return first;
}

D folded(const std::string &expression, const D &x, const std::string &before = "") {
  return slope(expression, x, before, true);
}

std::string code_of(const LoopSpec &spec, const std::vector<std::string> &wrt,
                    const GradientOptions &options = {}) {
  try {
    gradient(spec, wrt, options);
  } catch (const Error &error) {
    return error.code();
  }
  return "none";
}

void check_near(const D &got, const D &want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t k = 0; k < got.size(); ++k) CHECK(got[k] == doctest::Approx(want[k]));
}

} // namespace

TEST_CASE("broadcasting is undone by a sum like the input") {
  CHECK(text("in x : f32[i, j]\nin y : f32[i]\nout z = x * y", {"x", "y"}) ==
        "kernel k_grad {\n"
        "  in  x : f32[i, j]\n"
        "  in  y : f32[i]\n"
        "  in  d_z : f32[i, j]\n"
        "  out d_x : f32 = d_z * y\n"
        "  out d_y : f32 = reduce(sum, like=y) d_z * x\n"
        "}\n");
}

TEST_CASE("the gradient of accumulate puts the folded value inside, not x") {
  const std::string derived =
      text("order c\nin x : f32[:, :]\nin y : f32[:]\nout z = accumulate(sum) exp(x) * y", {"x"});
  CHECK(derived.find("exp(sum(x, 1))") != std::string::npos);
  CHECK(derived.find("in  d_z : f32[:]\n") != std::string::npos);
}

TEST_CASE("an input that does not matter gets zeros, and the value comes along where asked for") {
  GradientOptions options;
  options.value = true;
  const std::string derived =
      text("in x : f64[i]\nin w : f64[i, j]\nout z = sin(x)\nout n = i32(w)", {"w", "x"}, options);
  CHECK(derived.find("out z = sin(x)\n") != std::string::npos);
  CHECK(derived.find("out d_w : f64 = broadcast(like=w) f64(0)\n") != std::string::npos);
  CHECK(derived.find("d_n") == std::string::npos); // an integer output has no cotangent
}

TEST_CASE("an input of permuted axes gets its gradient in its own order of dims") {
  CHECK(text("in a : f64[i, j]\nin x : f64[j, i]\nout z = a * x", {"x"}).find("out d_x[j, i] :") !=
        std::string::npos);
}

TEST_CASE("a dim of 1 that is stretched at the call is folded back") {
  const LoopSpec spec =
      gradient(kernel("in x : f64[:, :]\nin y : f64[:, :]\nout z = x * y"), {"x"});
  const D x{2, 3}, y{1, 2, 3, 4, 5, 6}, g(6, 1);
  const Results r = compile(spec)({{"x", View<const double>(x.data(), {1, 2})},
                                   {"y", View<const double>(y.data(), {3, 2})},
                                   {"d_z", View<const double>(g.data(), {3, 2})}});
  CHECK(r["d_x"].shape()[0] == 1);
  CHECK(r["d_x"].shape()[1] == 2);
  CHECK(values(r["d_x"]) == D{9, 12});
}

TEST_CASE("several ways into an input count each once") {
  const LoopSpec spec =
      gradient(kernel("in x : f64[i, j]\nin s : f64\nout z = x * s\nout t = s"), {"s"});
  const D x{1, 2, 3, 4}, s{2}, g(4, 1), gt{10};
  const Results r = compile(spec)({{"x", View<const double>(x.data(), {2, 2})},
                                   {"s", View<const double>(s.data(), {})},
                                   {"d_z", View<const double>(g.data(), {2, 2})},
                                   {"d_t", View<const double>(gt.data(), {})}});
  CHECK(values(r["d_s"]) == D{20});
}

TEST_CASE("products of all others need no division and lose nothing on the way") {
  CHECK(folded("prod(x)", {2, 0, 4}) == D{0, 8, 0});
  CHECK(folded("prod(x)", {2, 0, 0}) == D{0, 0, 0});
  CHECK(folded("prod(x)", {3, 5}) == D{5, 3});
  check_near(folded("prod(x)", {1e-170, 1e-170, 1e170}), {1, 1, 0});
  const D mixed = folded("prod(x)", {5, 1e170, 1e-170, 1e-170});
  CHECK(mixed[0] == doctest::Approx(1e-170));
  CHECK(folded("prod(x)", {1e200, 1e200, 1e200})[0] == inf);
  // At the ends of the range, where the last step alone rounds.
  CHECK(folded("prod(x)", {0x1p-900, 0x1p-925, 1}) == D{0x1p-925, 0x1p-900, 0});
  CHECK(folded("prod(x)", {0x1p-1074, 0x1.8p1000, 0x1p100}) == D{inf, 0x1p-974, 0x1.8p-74});
  CHECK(folded("prod(x)", {0x1.8p-530, -0x1.fp-531, 1}) ==
        D{-0x1.fp-531, 0x1.8p-530, -0x1.8p-530 * 0x1.fp-531});
}

TEST_CASE("products of all others of f32 are exact where f32 has use for them, and else 0 or inf") {
  const auto others = [](D x) { return folded("f64(prod(f32(x)))", x); };
  for (const double step : {0x1p-100, 0x1p100})
    for (int count = 1; count <= 40; ++count) {
      D x(std::size_t(count) + 1, step);
      x[0] = -1.5;
      D want(x.size(), -1.5 * std::pow(step, count - 1));
      want[0] = std::pow(step, count);
      if (count > 8) want.assign(x.size(), step < 1 ? 0 : -inf);
      if (count > 8 && step > 1) want[0] = inf;
      if (count <= 5 || count > 11) CHECK(others(x) == want);
    }
  D there(17, 0x1p-100);
  std::fill(there.begin() + 8, there.begin() + 16, 0x1p100);
  there[16] = 2;
  const D back = others(there);
  CHECK(back == D{0x1p101, 0x1p101, 0x1p101, 0x1p101, 0x1p101, 0x1p101, 0x1p101, 0x1p101, 0x1p-99,
                  0x1p-99, 0x1p-99, 0x1p-99, 0x1p-99, 0x1p-99, 0x1p-99, 0x1p-99, 1});
  D infinite(40, 0x1p-100), nothing(40, 0x1p100);
  infinite[3] = inf;
  nothing[3] = 0;
  for (std::size_t k = 0; k < 40; ++k) {
    CHECK(others(infinite)[k] == (k == 3 ? 0 : inf));
    CHECK(others(nothing)[k] == (k == 3 ? inf : 0));
  }
}

TEST_CASE("second derivatives of a product are right where elements are 0") {
  const LoopSpec product = kernel("in x : f64[i]\nout z = prod(x)");
  const Kernel back = compile(gradient(gradient(product, {"x"}), {"x"})),
               ahead = compile(jvp(gradient(product, {"x"}), {"x"}));
  for (const D &x : {D{2, 0, 3}, D{0, 0, 3}, D{0, 0, 0}, D{1e-200, 2, 3}, D{0, 0, 0, 0, 0, 2}}) {
    const std::size_t n = x.size();
    for (std::size_t i = 0; i < n; ++i) {
      D along(n), want(n);
      along[i] = 1;
      for (std::size_t j = 0; j < n; ++j) {
        want[j] = i != j;
        for (std::size_t k = 0; k < n; ++k) want[j] *= k == i || k == j ? 1 : x[k];
      }
      const D one{1};
      const NamedView at{"x", View(x)}, weight{"d_z", View<const double>(one.data(), {})};
      check_near(values(back({at, weight, {"d_d_x", View(along)}})["d_x_2"]), want);
      check_near(values(ahead({at, weight, {"t_x", View(along)}})["t_d_x"]), want);
    }
  }
}

TEST_CASE("an accumulator that counts steps in an integer has derivatives of any order") {
  // z = 1*x0^2 + 2*x1^2 + 3*x2^2
  const LoopSpec counted = parse("accumulator weighted(n, m; x) { init n = 0, m = 0\n"
                                 "step n = n + 1, m = m + x * x * (n + 1)\nresult m }\n"
                                 "kernel k { in x : f64[i]\nout z = weighted(x) }");
  const Kernel second = compile(gradient(gradient(counted, {"x"}), {"x"}));
  const D x{1, 5, -2}, along{1, 1, 1}, one{1};
  const Results r =
      second({{"x", View(x)}, {"d_z", View<const double>(one.data(), {})}, {"d_d_x", View(along)}});
  CHECK(values(r["d_x_2"]) == D{2, 4, 6});
}

TEST_CASE("ties of max share evenly, and so do those of maximum") {
  CHECK(folded("max(x)", {1, 3, 3}) == D{0, 0.5, 0.5});
  CHECK(folded("min(x)", {1, 3, 1}) == D{0.5, 0, 0.5});
  CHECK(slope("maximum(x, 1)", {0, 1, 2}) == D{0, 0.5, 1});
}

TEST_CASE("logsumexp weighs like softmax, also at infinity") {
  CHECK(folded("logsumexp(x)", {1000, 0}) == D{1, 0});
  CHECK(folded("logsumexp(x)", {-inf, -inf}) == D{0, 0});
  CHECK(folded("logsumexp(x)", {inf, 1}) == D{1, 0});
}

TEST_CASE("var, std and norm of constants and zeros are flat") {
  CHECK(folded("std(x)", {2, 2, 2}) == D{0, 0, 0});
  CHECK(folded("norm(x)", {0, 0}) == D{0, 0});
  check_near(folded("norm(x)", {3, 4}), {0.6, 0.8});
  check_near(folded("var(x, correction=1)", {1, 2, 6}), {-2, -1, 3});
  check_near(folded("mean(x)", {1, 2, 6, 7}), {0.25, 0.25, 0.25, 0.25});
}

TEST_CASE("the edges of elementwise functions are as documented") {
  CHECK(slope("sqrt(x)", {0, 4}) == D{inf, 0.25});
  CHECK(slope("abs(x)", {-1, 0, 2}) == D{-1, 0, 1});
  CHECK(slope("x ^ 0", {0, 2}) == D{0, 0});
  CHECK(slope("x ^ 2", {0, 3}) == D{0, 6});
  CHECK(slope("0. ^ x", {0, 2}) == D{0, 0});
  CHECK(slope("clip(x, 0, 1)", {-1, 0, 0.5, 1, 2}) == D{0, 1, 1, 1, 0});
  CHECK(slope("relu(x)", {-1, 0, 2}) == D{0, 0, 1});
  CHECK(slope("hypot(x, 0.)", {0, 2}) == D{0, 1});
  CHECK(slope("atan2(x, 0.)", {0}) == D{0});
  CHECK(slope("logaddexp(x, -inf)", {-inf, 0}) == D{0, 1});
  CHECK(slope("tanh(x)", {1000, -1000}) == D{0, 0});
  CHECK(slope("tanh(x)", {20})[0] == doctest::Approx(4 * std::exp(-40.0)).epsilon(1e-12));
  CHECK(slope("sigmoid(x)", {40})[0] == doctest::Approx(std::exp(-40.0)).epsilon(1e-12));
  CHECK(slope("floor(x) + sign(x)", {0.5, 2}) == D{0, 0});
}

TEST_CASE("nothing leaks through a branch that is not taken") {
  CHECK(slope("where(x > 0, log(x), 0)", {0, 2}) == D{0, 0.5});
  CHECK(slope("where(x < 0, exp(x), 1)", {1000, 0}) == D{0, 0});
  CHECK(slope("where(x > 0, sqrt(x), 0)", {0, -1, 4}) == D{0, 0, 0.25});
  CHECK(slope("relu(log(x))", {0, 2}) == D{0, 0.5});
}

TEST_CASE("a user's accumulator is swept back through its steps") {
  const std::string damped = "accumulator damped(a; m) { init a = 0; step a = 0.5*a + m }\n";
  CHECK(folded("damped(x, i)", {1, 2, 4}, damped) == D{0.25, 0.5, 1});
  const LoopSpec spec =
      gradient(kernel("in x : f64[i]\nin s : f64\nout z = damped(x, i, init=s)", damped), {"s"});
  const D x{1, 2, 4}, s{3}, g{1};
  const Results r = compile(spec)({{"x", View<const double>(x.data(), {3})},
                                   {"s", View<const double>(s.data(), {})},
                                   {"d_z", View<const double>(g.data(), {})}});
  CHECK(values(r["d_s"]) == D{0.125});
}

TEST_CASE("scans are swept back the other way") {
  CHECK(slope("scan(sum, x, i)", {1, 2, 3}) == D{3, 2, 1});
  CHECK(slope("scan(sum, x, i, exclusive)", {1, 2, 3}) == D{2, 1, 0});
  CHECK(slope("scan(sum, x, i, reverse)", {1, 2, 3}) == D{1, 2, 3});
  CHECK(slope("scan(prod, x, i)", {2, 3, 4}) == D{1 + 3 + 12, 2 + 8, 6});
  CHECK(slope("scan(max, x, i)", {2, 1, 4}) == D{2, 0, 1});
}

TEST_CASE("an accumulator of the kernel may have the name of a helper") {
  const std::string own = "accumulator product_mantissa(a; m) { init a = 0; step a = a + m }\n";
  CHECK(folded("prod(x) + product_mantissa(x, i)", {2, 3}, own) == D{4, 3});
}

TEST_CASE("a gradient can be derived again") {
  const LoopSpec first = gradient(kernel("in x : f64[i]\nout z = x ^ 3"), {"x"});
  const LoopSpec second = gradient(first, {"x"});
  CHECK(print(parse(print(second))) == print(second));
  const D x{2}, g{1};
  const View<const double> xv(x.data(), {1}), gv(g.data(), {1});
  // Its output would be called d_x again: the name is taken.
  const Results r = compile(second)({{"x", xv}, {"d_z", gv}, {"d_d_x", gv}});
  CHECK(values(r["d_x_2"])[0] == doctest::Approx(12));
}

TEST_CASE("a third derivative is that of the second") {
  LoopSpec spec = kernel("in x : f64[i]\nout z = x ^ 5 + sin(x) + log(x) * tanh(x)");
  for (const char *of : {"z", "d_x", "d_x_2"}) {
    GradientOptions options;
    options.of = {of};
    spec = gradient(spec, {"x"}, options);
    CHECK(print(parse(print(spec))) == print(spec));
  }
  const D x{0.7, 1.3}, ones{1, 1};
  const View<const double> xv(x.data(), {2}), gv(ones.data(), {2});
  const D third =
      values(compile(spec)({{"x", xv}, {"d_z", gv}, {"d_d_x", gv}, {"d_d_x_2", gv}})["d_x"]);
  for (int k = 0; k < 2; ++k) {
    // t1, t2, t3: the derivatives of tanh; those of log * tanh by Leibniz.
    const double v = x[k], t = std::tanh(v), t1 = 1 - t * t, t2 = -2 * t * t1;
    const double t3 = -2 * t1 * t1 - 2 * t * t2;
    const double logs = 2 / (v * v * v) * t - 3 / (v * v) * t1 + 3 / v * t2 + std::log(v) * t3;
    CHECK(third[k] == doctest::Approx(60 * v * v - std::cos(v) + logs).epsilon(1e-12));
  }
}

TEST_CASE("a gradient may be added to what is there") {
  GradientOptions options;
  options.add = true;
  const LoopSpec spec =
      gradient(kernel("in x : f64[i, j]\nin y : f64[i]\nout z = x * y"), {"y"}, options);
  CHECK(print(spec).find("out d_y : f64 += reduce(sum, like=y) d_z * x") != std::string::npos);
  const D x{1, 2, 3, 4}, y{0, 0}, g{1, 1, 1, 1};
  D d_y{10, 20};
  compile(spec).run({{"x", View<const double>(x.data(), {2, 2})},
                     {"y", View<const double>(y.data(), {2})},
                     {"d_z", View<const double>(g.data(), {2, 2})}},
                    {{"d_y", View<double>(d_y.data(), {2})}});
  CHECK(d_y == D{13, 27});
}

TEST_CASE("an input or an output that is named twice is a mistake") {
  const LoopSpec spec = kernel("in x : f64[i]\nout z = x * x");
  CHECK(code_of(spec, {"x", "x"}) == "E0608");
  CHECK(code_of(spec, {"x"}, {.of = {"z", "z"}}) == "E0608");
  for (const auto &derive : std::vector<std::function<void()>>{
           [&] { saving_forward(spec, {"x", "x"}); }, [&] { jvp(spec, {"x", "x"}); },
           [&] { jvp(spec, {"x"}, {.of = {"z", "z"}}); }})
    CHECK_THROWS_AS(derive(), SpecError);
}

TEST_CASE("what has no derivative is an error that names it") {
  const LoopSpec indices =
      kernel("in x : f64[i]\nin n : i32[i]\nout z = f64(argmax(x)) * x\nout q = n");
  CHECK(code_of(indices, {"x"}) == "E0601");
  CHECK(code_of(indices, {"n"}) == "E0603");
  CHECK(code_of(indices, {"y"}) == "E0003");
  CHECK(code_of(indices, {"x"}, {.of = {"q"}}) == "E0603");
  CHECK(code_of(kernel("in x : f64[i]\nout z = f64(i32(x)) * x"), {"x"}) == "E0602");
  CHECK(code_of(kernel("in x : f64[i]\nout z = f64(x > 0) * x"), {"x"}) == "none");
}
