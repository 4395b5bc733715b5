// Gradients and axes: what a cotangent lacks, where it is folded or repeated, which mask travels
// with it, and indices that came from elsewhere. Values are checked against central differences.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

using D = std::vector<double>;

struct Input {
  std::string name;
  std::vector<std::int64_t> extents;
};

const std::string functions =
    "def plus(a, b) = a + b\n  derivative a = g\n  derivative b = g\n"
    "def total(a, b) = sum(a * b, j)\n"
    "  derivative a = g * b\n  derivative b = g * a\n"
    "def centred(a) = a - sum(a, j) / extent(j)\n"
    "  derivative a = g - sum(g, j) / extent(j)\n"
    "def ramp(a, b) = a * b * iota(j)\n  derivative a = g * b * iota(j)\n";

LoopSpec kernel(const std::string &body) {
  return parse(functions + "kernel k {\n" + body + "\n}");
}

std::string text(const std::string &body, const std::vector<std::string> &wrt) {
  return print(gradient(kernel(body), wrt));
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

Array filled(const std::vector<std::int64_t> &extents, double first, double by) {
  Array a(f64, extents);
  for (std::int64_t k = 0; k < a.size(); ++k)
    a.data<double>()[k] = first + by * double((k * 7 + 3) % 11);
  return a;
}

D values(const Array &a) { return D(a.data<double>(), a.data<double>() + a.size()); }

// The gradient of an output z of a kernel over f64, by every engine, is the slope of sum(z * d_z).
void check_slopes(const std::string &body, const std::vector<Input> &inputs) {
  INFO(body);
  const LoopSpec spec = kernel(body);
  std::vector<std::string> wrt;
  std::vector<Array> data;
  for (const Input &input : inputs) {
    wrt.push_back(input.name);
    data.push_back(filled(input.extents, 0.4, 0.1 + 0.01 * double(data.size())));
  }
  const Kernel forward = compile(spec);
  const auto call = [&] {
    std::vector<NamedView> views;
    for (std::size_t k = 0; k < inputs.size(); ++k) views.push_back({wrt[k], data[k]});
    return forward.call(views);
  };
  const Results there = call();
  const auto shape = there["z"].shape();
  const Array g = filled({shape.begin(), shape.end()}, 0.5, 0.2);
  const auto loss = [&] {
    const D z = values(call()["z"]), weights = values(g);
    double sum = 0;
    for (std::size_t k = 0; k < z.size(); ++k) sum += z[k] * weights[k];
    return sum;
  };
  const LoopSpec back = gradient(spec, wrt);
  INFO(print(back));
  CHECK(print(parse(print(back))) == print(back));
  for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference}) {
    Options options;
    options.engine = engine;
    std::vector<NamedView> views{{"d_z", g}};
    for (std::size_t k = 0; k < inputs.size(); ++k) views.push_back({wrt[k], data[k]});
    const Results slopes = compile(back, options).call(views);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const D got = values(slopes["d_" + wrt[k]]);
      REQUIRE(got.size() == std::size_t(data[k].size()));
      for (std::size_t at = 0; at < got.size(); ++at) {
        double &x = data[k].data<double>()[at];
        const double here = x, step = 1e-5;
        x = here + step;
        const double above = loss();
        x = here - step;
        const double below = loss();
        x = here;
        INFO("d_" << wrt[k] << " at " << at);
        CHECK(got[at] == doctest::Approx((above - below) / (2 * step)).epsilon(1e-6));
      }
    }
  }
}

D zeros_of(const std::string &body, const std::string &input, const std::vector<Input> &inputs) {
  const LoopSpec spec = gradient(kernel(body), {input});
  std::vector<Array> data;
  for (const Input &one : inputs) data.push_back(filled(one.extents, one.name == "d_z" ? 1 : 0, 0));
  std::vector<NamedView> views;
  for (std::size_t k = 0; k < inputs.size(); ++k) views.push_back({inputs[k].name, data[k]});
  return values(compile(spec).call(views)["d_" + input]);
}

} // namespace

TEST_CASE("an index of the forward pass keeps its extent in a cotangent that lacks its axis") {
  CHECK(has(text("in w : f32[c]\nout y = sum(w * iota(c), c)", {"w"}),
            "out d_w : f32 = d_y * iota(c, of=w)\n"));
  CHECK(has(text("in w : f32[c]\nout y = sum(w * extent(c), c)", {"w"}), "extent(c, of=w)"));
  CHECK(has(text("in w : f32[n, c]\nin label : i64[n]\n"
                 "out y = sum(where(iota(c) == label, w, 0), c)",
                 {"w"}),
            "where(iota(c, of=w) == label, d_y, 0)"));
  check_slopes("in w : f64[c]\nout z = sum(w * iota(c), c)", {{"w", {4}}});
  check_slopes("in w : f64[c]\nout z = sum(exp(w) * extent(c), c)", {{"w", {4}}});
  check_slopes("in x : f64[i, j]\nin w : f64[j]\nout z = where(x > 0.75, log(x) * iota(j), x ^ w)",
               {{"x", {2, 3}}, {"w", {3}}});
  check_slopes("in x : f64[i, j]\nin s : f64[i]\n"
               "out z = sum(exp(s) * iota(j), j) * sum(x, j) / extent(j)",
               {{"x", {2, 3}}, {"s", {2}}});
  check_slopes("in x : f64[i, j]\nlet t = x * iota(j) + extent(i)\n"
               "out z = exp(0.1 * sum(t, j)) * mean(sin(t))",
               {{"x", {2, 3}}});
  check_slopes("in x : f64[i]\nin w : f64[i, j]\nout z[i] = reduce(sum) x * w * iota(j)",
               {{"x", {2}}, {"w", {2, 3}}});
}

TEST_CASE("an index over a dim that stretches is that of all inputs that give the extent") {
  const std::string body = "in x : f64[:, :]\nin y : f64[:, :]\nout z = exp(x * y) * iota(1)";
  CHECK(has(text(body, {"x"}), "iota(1, of=(x, y))"));
  check_slopes(body, {{"x", {2, 3}}, {"y", {2, 1}}});
  check_slopes(body, {{"x", {2, 1}}, {"y", {1, 3}}});
  check_slopes("in x : f64[:, :]\nin y : f64[:, :]\nout z = sum(exp(x * y) / extent(1), 1)",
               {{"x", {2, 1}}, {"y", {1, 3}}});
}

TEST_CASE("a branch that is not taken stays so where its cotangent is folded") {
  const Input g2{"d_z", {2, 3}}, x2{"x", {2, 3}}, y{"y", {2}};
  CHECK(zeros_of("in x : f64[i, j]\nin y : f64[i]\nout z = where(x > 0, sqrt(y), 0)", "y",
                 {x2, y, g2}) == D{0, 0});
  CHECK(zeros_of("in x : f64[:, :]\nin y : f64[:] dims(0)\nout z = where(x > 0, sqrt(y), 0)", "y",
                 {x2, y, g2}) == D{0, 0});
  const Input g{"d_z", {3}}, x{"x", {3}}, v{"y", {3}};
  for (const char *scan : {"sum", "mean", "prod", "norm"})
    for (const char *how : {"", ", reverse", ", exclusive"})
      CHECK(zeros_of("in x : f64[i]\nin y : f64[i]\nout z = where(x > 0, scan(" +
                         std::string(scan) + ", sqrt(y), i" + how + "), 0)",
                     "y", {x, v, g}) == D{0, 0, 0});
  CHECK(zeros_of("in x : f64[i]\nin y : f64[i]\nout z = where(x > 0, sum(sqrt(y), i), 0)", "y",
                 {x, v, g}) == D{0, 0, 0});
}

TEST_CASE("a mask of a value that stretches holds where the sum of its cotangent was put") {
  // Both users of exp(x) have a mask, and only their last rows are taken.
  check_slopes("in x : f64[:, :]\nin y : f64[:, :]\n"
               "let e = exp(sin(x))\n"
               "out z = where(iota(0) == 2, e * y, 0) + where(iota(0) > 1, e * sin(y), 0)",
               {{"x", {1, 2}}, {"y", {3, 2}}});
}

TEST_CASE("a cotangent is repeated only where nothing that it meets has the axis") {
  const std::string softmax =
      text("in x : f32[n, k]\nlet e = exp(x - max(x, k))\nout y = e / sum(e, k)", {"x"});
  INFO(softmax);
  CHECK(!has(softmax, ", d_y, d_y"));
  CHECK(has(softmax, "(d_y / t1 + sum(d_y * -(e / t1 / t1), k)) * e"));
  check_slopes("in x : f64[n, k]\nlet e = exp(x - max(x, k))\nout z = e / sum(e, k)",
               {{"x", {2, 3}}});
  check_slopes("in x : f64[:, :]\nlet e = exp(x - max(x, 1))\nout z = e / sum(e, 1)",
               {{"x", {2, 3}}});
  check_slopes("in x : f64[i, j]\nin w : f64[j]\nlet c = x - mean(x, j)\n"
               "out z = c * rsqrt(mean(c * c, j) + 0.1) * w",
               {{"x", {2, 3}}, {"w", {3}}});
}

TEST_CASE("equal values that meet along an axis count as often as they meet") {
  check_slopes("in x : f64[i, j]\nin y : f64[i]\nout z = sum(exp(x) + exp(y), j)",
               {{"x", {2, 3}}, {"y", {2}}});
  check_slopes("in x : f64[i, j]\nin y : f64[i]\nin s : f64\nout z = sum(x + (y + s))",
               {{"x", {2, 3}}, {"y", {2}}, {"s", {}}});
  check_slopes("in x : f64[i, j]\nin y : f64[i]\nout z = max(y + scan(sum, mean(x, j), i))",
               {{"x", {2, 3}}, {"y", {2}}});
  check_slopes("in x : f64[i, j]\nin y : f64[i]\nout z = sum(scan(sum, x + y, j), j)",
               {{"x", {2, 3}}, {"y", {2}}});
  check_slopes("in x : f64[i, j]\nin y : f64[j]\nout z = sum(sum(exp(y), like=x) + x, j)",
               {{"x", {2, 3}}, {"y", {3}}});
}

TEST_CASE(
    "a repeated 1 gets the sum over what it was repeated along, wherever it is in the expression") {
  for (const char *expression : {"sum(exp(x) + y, 1)", "sum(exp(x) * sin(x + y), 1)",
                                 "sum((x + y) * x, 0)", "sum((sin(x) + exp(x)) * y + x)",
                                 "exp(x) - mean(x + y, 1)", "sum(sum(x + y, like=x), 1) * y",
                                 "norm(exp(x) + exp(y), 1)", "logsumexp(x + exp(x) * y, 0)"})
    for (const std::vector<std::int64_t> &x :
         std::vector<std::vector<std::int64_t>>{{2, 3}, {1, 3}, {2, 1}, {1, 1}})
      for (const std::vector<std::int64_t> &y :
           std::vector<std::vector<std::int64_t>>{{2, 3}, {2, 1}})
        check_slopes("in x : f64[:, :]\nin y : f64[:, :]\nout z = " + std::string(expression),
                     {{"x", x}, {"y", y}});
  check_slopes("in x : f64[i, j=1]\nin y : f64[i, j]\nout z = sum(exp(x) + x * y, j)",
               {{"x", {2, 1}}, {"y", {2, 3}}});
}

TEST_CASE("clauses of functions meet cotangents that lack axes, and indices of the kernel") {
  for (const char *expression :
       {"sum(plus(x, exp(y)), j)", "sum(x * centred(x * y), j)", "sum(ramp(x, exp(y)), j)",
        "mean(centred(plus(x, y) * iota(j)) ^ 2)", "sum(plus(x * iota(j), y), j) * w",
        "total(x * iota(j), iota(j) + w) + max(total(x, w))",
        "sum(ramp(w * iota(j), exp(y)) * ramp(x, y), j)"})
    check_slopes("in x : f64[i, j]\nin y : f64[i]\nin w : f64[j]\nout z = " +
                     std::string(expression),
                 {{"x", {2, 3}}, {"y", {2}}, {"w", {3}}});
}

TEST_CASE("the derivatives of tanh keep their digits far out and near 0, derived again too") {
  const D x{-0.0, 1e-8, 0.25, 0.5, 3, 20, -300, 1000};
  const LoopSpec first = gradient(kernel("in x : f64[i]\nout z = tanh(x)"), {"x"});
  const LoopSpec second = gradient(first, {"x"});
  const D ones(x.size(), 1);
  const View<const double> xv(x.data(), {8}), one(ones.data(), {8});
  const D slope = values(compile(first)({{"x", xv}, {"d_z", one}})["d_x"]);
  const D curve = values(compile(second)({{"x", xv}, {"d_z", one}, {"d_d_x", one}})["d_x_2"]);
  for (std::size_t k = 0; k < x.size(); ++k) {
    INFO(x[k]);
    const long double cosh = std::cosh((long double)(x[k]));
    const double want = double(1 / (cosh * cosh)),
                 want_curve = double(-2 * std::tanh((long double)(x[k])) / (cosh * cosh));
    CHECK(std::fabs(slope[k] - want) <= 1e-15 * want);
    CHECK(std::fabs(curve[k] - want_curve) <= 2e-15 * std::fabs(want_curve));
  }
  CHECK(curve[0] == 0);
  CHECK(!has(print(first), "cosh"));
  CHECK(!has(text("in x : f32[i]\nout z = gelu_tanh(x)", {"x"}), "cosh"));
}

TEST_CASE("a sum like an input that folds nothing at a call is one addition in the dtype") {
  const LoopSpec spec = kernel("in x : f32[:, :]\nin g : f32[:, :]\nin row : f32[:, :]\n"
                               "out z = sum(g * row, like=x)");
  const float zero = 0, g[] = {-0.0f, 1.5f, 1e-45f, 3e38f}, row[] = {1, 3, -1, 10};
  const View<const float> gv(g, {2, 2}), rv(row, {1, 2}), x(&zero, {2, 2}, {0, 0});
  for (const Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference}) {
    Options options;
    options.engine = engine;
    const Results r = compile(spec, options)({{"x", x}, {"g", gv}, {"row", rv}});
    const float *z = r["z"].data<float>();
    CHECK(z[0] == 0);
    CHECK(!std::signbit(z[0])); // 0 + -0.0
    CHECK(z[1] == 4.5f);
    CHECK(z[2] == 1e-45f);
    CHECK(std::isinf(z[3]));
  }
}

TEST_CASE("what is repeated to the shape of like= gets what flows into each copy once") {
  for (const std::string fold :
       {"std(x, like=y)", "var(x, like=y)", "norm(x, like=y)", "max(x, like=y)",
        "logsumexp(x, like=y)", "mean(x, like=y)", "sum(x, like=y)", "var(x, like=(y, w))"})
    for (const std::vector<std::int64_t> &like : {std::vector<std::int64_t>{1, 3}, {4, 1}, {1, 1}})
      check_slopes("in x : f64[:, :, :]\nin y : f64[:, :]\nin w : f64[:, 1]\nout z = exp(" + fold +
                       " * 0.3) * y * w",
                   {{"x", {2, 4, 1}}, {"y", like}, {"w", {like[0], 1}}});
}

TEST_CASE("what a fold like a longer input repeats flows back once, whatever the fold") {
  for (const char *fold : {"max", "min", "norm", "logsumexp", "mean", "sum"})
    check_slopes("in x : f64[:, :]; in y : f64[:, :]; out z = " + std::string(fold) +
                     "(x * x, like=y)",
                 {{"x", {3, 1}}, {"y", {1, 2}}});
  check_slopes("in x : f64[i, j=1]; in y : f64[j, i=1]; out z = max(y, like=x)",
               {{"x", {2, 1}}, {"y", {3, 1}}});
  check_slopes("in x : f64[:]; in y : f64[:, :]; out z = var(x, like=y)",
               {{"x", {1}}, {"y", {2, 3}}});
}

TEST_CASE("an output has a gradient that is like an input which may be 1, or says that it has 1") {
  check_slopes("in x : f64[i?]; in y : f64[i]; out z = broadcast(like=x) y * y",
               {{"x", {3}}, {"y", {3}}});
  check_slopes("in x : f64[:, 3]; in y : f64[1, :]; out z = broadcast(like=y) x * x",
               {{"x", {1, 3}}, {"y", {1, 3}}});
  check_slopes("in x : f64[:]; out z[p < 1] = sum(x[p + u] * x[p + u], u)", {{"x", {3}}});
}

TEST_CASE("what flows from outputs of different extents into one input is summed for each, also "
          "where nothing stretches") {
  const LoopSpec back = gradient(parse("kernel k { stretch off; in x : f64[:, :]; in y : f64[:]\n"
                                       "in z : f64[:, :]; out a = reduce(sum) x * y\n"
                                       "out b = reduce(sum) z * y }"),
                                 {"y"});
  const std::vector<double> x{2, 3}, y{1, 1}, z{5, 7, 11, 13}, d{1, 10};
  const Results r = compile(back)({{"x", View<const double>(x.data(), {1, 2})},
                                   {"y", View<const double>(y.data(), {2})},
                                   {"z", View<const double>(z.data(), {2, 2})},
                                   {"d_a", View<const double>(d.data(), {2})},
                                   {"d_b", View<const double>(d.data(), {2})}});
  CHECK(r["d_y"].data<double>()[0] == 18);
  CHECK(r["d_y"].data<double>()[1] == 230);
  // Where they must be equal one sum is enough.
  CHECK(print(gradient(parse("kernel k { stretch off; in x : f64[:, :]; in y : f64[:]\n"
                             "out a = reduce(sum) x * y; out b = reduce(sum) exp(x * y) }"),
                       {"y"}))
            .find("sum(d_b") == std::string::npos);
}

TEST_CASE("a let that two outputs of a gradient read in two ways has its name in neither") {
  const LoopSpec back =
      gradient(parse("kernel k { in v : f64[:, :]; in h : i64[j]; in g : f64[:, :]\n"
                     "let vs[q0, q1] = v[q0, q1] * 2; let t = g[k, wrap(h[j])]\n"
                     "out a = hypot(vs[-3*u - 1, -k], t); out b = clip(t, 0, 1) }"),
               {"v", "g"});
  CHECK(print(parse(print(back))) == print(back));
}

TEST_CASE(
    "an extent of an array in a sum through its window is said by a window in what is derived") {
  const LoopSpec back =
      gradient(parse("kernel k { in v : f64[:]; in x : f64[i]; let vs[q] = v[q] * 2\n"
                     "out y = sum(x, like=pad(vs, 0: (1, 0), 3)[-i]) }"),
               {"v", "x"});
  CHECK(print(parse(print(back))) == print(back));
}
