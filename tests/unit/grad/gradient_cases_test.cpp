// Gradients of what is rare: dims of 1 that are repeated at a call, folds of nothing, complex
// numbers, masks that go through folds. Each case is held against measured slopes.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

struct Given {
  std::string name;
  std::vector<std::int64_t> shape;
};

// Positive numbers, all different; of a complex input both parts.
Array filled(const Given &given, DType dtype) {
  Array array(dtype, given.shape);
  for (std::int64_t k = 0; k < array.size(); ++k) {
    const double value = 0.3 + std::fmod(double(k + 1) * 0.618 + double(given.name[0]) * 0.1, 1.4);
    if (dtype == f64)
      array.data<double>()[k] = value;
    else
      array.data<std::complex<double>>()[k] = {value, 1.3 - value};
  }
  return array;
}

// All slopes must agree, and each must have been measured.
void check_slopes(const std::string &text, const std::vector<Given> &inputs) {
  CAPTURE(text);
  const LoopSpec spec = parse(text);
  std::vector<Array> arrays;
  for (const Given &in : inputs)
    arrays.push_back(filled(in, text.find("in " + in.name + " : c128") == text.npos ? f64 : c128));
  std::vector<NamedView> views;
  for (std::size_t i = 0; i < inputs.size(); ++i) views.push_back({inputs[i].name, arrays[i]});
  // Interpreted: these kernels are too many to compile.
  const GradientCheck check =
      check_gradient(spec, std::span<const NamedView>(views), {.engine = Engine::interpreter});
  for (const SlopeCheck &slope : check.slopes)
    CHECK_MESSAGE(slope.slope == Slope::agrees, describe(slope));
}

std::string code_of(const std::string &text) {
  try {
    gradient(parse(text), {"x"});
  } catch (const Error &error) {
    return error.code();
  }
  return "none";
}

// d_x of one vector x for d_z = 1.
std::vector<double> slope(const std::string &expression, const std::vector<double> &x) {
  const LoopSpec spec =
      gradient(parse("kernel k { in x : f64[i]\nout z = " + expression + " }"), {"x"});
  const std::vector<double> ones(x.size(), 1);
  const std::vector<std::int64_t> shape{std::int64_t(x.size())};
  const Results r = compile(spec)({{"x", View<const double>(x.data(), shape)},
                                   {"d_z", View<const double>(ones.data(), shape)}});
  return {r["d_x"].data<double>(), r["d_x"].data<double>() + x.size()};
}

} // namespace

TEST_CASE("a scan of logsumexp has its slope at equal elements, too") {
  const double x[] = {1, 1, 0.5, 1, 2, 2};
  const GradientCheck check =
      check_gradient(parse("kernel k { in x : f64[n]; out y = scan(logsumexp, x, n) }"),
                     {{"x", View<const double>(x, {6})}});
  REQUIRE(check.slopes.size() == 1);
  CHECK_MESSAGE(check.slopes[0].slope == Slope::agrees, describe(check.slopes[0]));
}

TEST_CASE(
    "accumulators with a combine are derived in parallel blocks, in whatever order they join") {
  const std::string weighted =
      "accumulator weighted(s, n; m, w) { init s = 0, n = 0; step s = s + w * m, n = n + w\n"
      "combine s = s + s_other, n = n + n_other; result s / n }\n"
      "kernel k { in x : f64[i, j]; in y : f64[j]; out z = weighted((x, exp(y)), j) }";
  const std::string affine =
      "accumulator affine(a, b; p, q) { init a = 1, b = 0; step a = a * p, b = b * p + q\n"
      "combine a = a * a_other, b = b * a_other + b_other; result b }\n"
      "kernel k { in x : f64[j]; in y : f64[j]; out z = affine((x, y), j) }";
  // A start joined with a start is NaN here.
  const std::string rescaled =
      "accumulator rescaled(m, s; x) { init m = -inf, s = 0\n"
      "step m = maximum(m, x), s = s * exp(m - maximum(m, x)) + exp(x - maximum(m, x))\n"
      "combine m = maximum(m, m_other), s = s * exp(m - maximum(m, m_other)) + s_other * "
      "exp(m_other - maximum(m, m_other)); result m + log(s) }\n"
      "kernel k { in x : f64[i, j]; out z = rescaled(x, i) }";
  for (const std::int64_t n : {1, 2, 7, 40}) {
    check_slopes(weighted, {{"x", {3, n}}, {"y", {n}}});
    check_slopes(affine, {{"x", {n}}, {"y", {n}}});
    check_slopes(rescaled, {{"x", {n, 2}}});
  }
  const LoopSpec backward = gradient(parse(affine), {"x", "y"});
  CHECK(print(backward).find("exclusive, reverse") != std::string::npos);
  const Array x = filled({"x", {400'000}}, f64), y = filled({"y", {400'000}}, f64);
  Options options;
  options.threads = 2;
  const Kernel kernel = compile(backward, options);
  const Array one = filled({"z", {}}, f64);
  kernel({{"x", x}, {"y", y}, {"d_z", one}});
  bool in_parallel = false;
  for (const Decision &d : kernel.why())
    in_parallel |= d.topic == "scan" && d.text.find("in parallel") != std::string::npos;
  CHECK(in_parallel);
}

TEST_CASE("reduce with nothing to fold is one step of its accumulator") {
  const std::string damped = "accumulator damped(a; m) { init a = 2; step a = 0.5 * a + m * m }\n";
  for (const char *mode : {"var", "std", "norm", "prod, init=0.5", "min, init=9", "max, init=0.2",
                           "sum, init=3", "logsumexp, init=(1, 2)", "damped", "damped, init=3"})
    check_slopes(damped + "kernel k { in x : f64[i]; out z = reduce(" + mode + ") x * x }",
                 {{"x", {3}}});
}

TEST_CASE("the gradient of a prod like an input leaves alone what is not folded") {
  check_slopes("kernel k { in x : f64[i, j]; in w : f64[i]; out z = prod(x, like=w) * w }",
               {{"x", {2, 3}}, {"w", {2}}});
  check_slopes("kernel k { in x : f64[i, j]; in w : f64[j, i=1]; out z = prod(x, like=w) * w }",
               {{"x", {2, 3}}, {"w", {3, 1}}});
  check_slopes("kernel k { in x : f64[:, :]; out z = prod(x * x, like=x) }", {{"x", {2, 3}}});
  CHECK(code_of("kernel k { in x : f64[:]; in w : f64[:]; out z = prod(x, like=w) }") == "E0601");
}

TEST_CASE("a result like an input that is 1 reaches every element that was folded, and once") {
  const std::vector<std::vector<std::int64_t>> shapes{{1, 1}, {1, 3}, {2, 1}, {2, 3}};
  for (const char *fold : {"sum", "mean", "max", "norm", "var", "std", "logsumexp"}) {
    const std::string f = fold;
    const std::string text = "kernel k { in x : f64[:, :]; in y : f64[:, :]; in w : f64[:, :]\n"
                             "out z = " +
                             f +
                             "(x * x + y, like=w) * y\n"
                             "out s = reduce(" +
                             f + ", like=w) x * " + f + "(x * y, like=y) }";
    for (const auto &x : shapes)
      for (const auto &y : shapes)
        for (const auto &w : {shapes[0], shapes[1], shapes[3]}) {
          if (f != "sum" && &x != &shapes[3]) continue; // of single elements they have corners
          check_slopes(text, {{"x", x}, {"y", y}, {"w", w}});
        }
  }
}

TEST_CASE("a result like several inputs reaches every element that was folded, and once") {
  const std::vector<std::vector<std::int64_t>> shapes{{1, 1}, {1, 3}, {2, 1}, {2, 3}};
  for (const char *fold : {"sum", "mean", "logsumexp"}) {
    const std::string f = fold;
    const std::string text = "kernel k { in x : f64[:, :]; in y : f64[:, :]; in w : f64[:, :]\n"
                             "out z = " +
                             f +
                             "(x * x + y, like=(w, y)) * y * w\n"
                             "out s = reduce(" +
                             f + ", like=(y, w)) x * exp(w) }";
    for (const auto &y : shapes)
      for (const auto &w : shapes) check_slopes(text, {{"x", {2, 3}}, {"y", y}, {"w", w}});
  }
}

TEST_CASE("unlabelled inputs that stretch at a call meet in every order") {
  const std::string text =
      "kernel k { in x : f64[:, :]; in y : f64[:, :]; in w : f64[:, :]\n"
      "let a = x * y; let b = sin(a) + a * w; let c = where(x > 0.4, b * b, a)\n"
      "out z = c * a + max(b * x, 1) * mean(a * a)\nout s = a + x }";
  const std::vector<std::vector<std::int64_t>> shapes{{1, 1}, {1, 3}, {2, 1}, {2, 3}};
  for (const auto &x : shapes)
    for (const auto &y : shapes)
      for (const auto &w : {shapes[0], shapes[2], shapes[3]})
        check_slopes(text, {{"x", x}, {"y", y}, {"w", w}});
}

TEST_CASE("a gradient by an input of dims i? is summed where it was repeated") {
  const std::string text =
      "kernel k { in x : f64[i?, j]; in y : f64[i?, j?]; in w : f64[i?]\n"
      "let a = x * y; let b = sin(a) + a * w\n"
      "out z = b * x + max(b * x, j) * mean(a * a)\nout s = a + x\nout t = sum(y * w, i) }";
  const std::vector<std::vector<std::int64_t>> shapes{{1, 1}, {1, 3}, {2, 1}, {2, 3}};
  for (const auto &x : {shapes[1], shapes[3]})
    for (const auto &y : shapes)
      for (const std::int64_t w : {1, 2}) check_slopes(text, {{"x", x}, {"y", y}, {"w", {w}}});
}

TEST_CASE("no array of a gradient is read where a dim i? has 1 element and another more") {
  const std::string text = "kernel k { in y : f64[i]; in x : f64[i, j]; in m : f64[i, j?]\n"
                           "let q[i] = 2 * y; out p = x; out o = q * ";
  for (const char *e :
       {"m", "scan(sum, m, i)", "scan(logsumexp, q + m, i)", "scan(prod, q * m, i)"})
    for (const std::int64_t m : {1, 3})
      check_slopes(text + e + " }", {{"y", {4}}, {"x", {4, 3}}, {"m", {4, m}}});
}

TEST_CASE("a let that is a sum back through a window of a scan has a gradient") {
  check_slopes("kernel k { in y : f64[i]; in x : f64[i, j]\n"
               "let t[i, j] = sum(scan(sum, y, i) * x, like=x[i, -j + 2]); out o = t * t }",
               {{"y", {4}}, {"x", {4, 3}}});
}

TEST_CASE("what a sum like an input repeats comes together once") {
  for (const std::int64_t n : {1, 3})
    check_slopes("kernel k { in w : f64[:, :]; in d : f64[:]; out z = sum(d * d, like=w) * w }",
                 {{"w", {2, 3}}, {"d", {n}}});
  check_slopes("kernel k { stretch off; in x : f64[:]; in y : f64; in w : f64[2]\n"
               "let t = sum(x, 0); out z = reduce(sum, like=w) y / t; out o = t + sqrt(t) }",
               {{"x", {1}}, {"y", {}}, {"w", {2}}});
}

TEST_CASE(
    "a branch that is not taken masks a fold of unlabelled dims, and not what it starts from") {
  const std::string text = "accumulator damped(a; m) { init a = 0; step a = 0.5 * a + m }\n"
                           "kernel k { in x : f64[:, :]; in y : f64[:, :]; in s : f64[:, :]\n"
                           "out z = where(s > 0.4, damped(x * y, 1, init=sum(s, 1)), 0) * s\n"
                           "out m = where(s > 0.4, max(x * y, 1, init=0.3), sum(x, 1)) * s }";
  for (const std::vector<std::int64_t> &y : {std::vector<std::int64_t>{1, 1}, {1, 3}, {2, 3}})
    check_slopes(text, {{"x", {2, 3}}, {"y", y}, {"s", {2, 3}}});
}

TEST_CASE("cotangents meet where an input that only lends its shape gives the extent") {
  check_slopes("kernel k { in x : f64[:]; in y : f64[:]\nlet t = sin(y)\n"
               "out a = sum(t + sum(t * t, like=x), like=y) }",
               {{"x", {3}}, {"y", {1}}});
}

TEST_CASE("the cotangent of an output that may be 1 where others are longer may be 1, too") {
  check_slopes("kernel k { in x : f64[i, j]; in y : f64[j=1, i]; out z = x * y; out o = exp(y) }",
               {{"x", {2, 3}}, {"y", {1, 2}}});
  check_slopes("kernel k { in x : f64[i, j]; in y : f64[:]; out z = x * y; out o = exp(y) }",
               {{"x", {2, 3}}, {"y", {1}}});
  check_slopes(
      "kernel k { stretch off; in x : f64[1]; in y : f64[:]; out z = x * y; out o = exp(x) }",
      {{"x", {1}}, {"y", {3}}});
}

TEST_CASE("complex functions have their derivatives") {
  for (const char *e :
       {"tanh(x)", "sign(x)", "prod(x, i)", "prod(x, i, init=2) * x", "r ^ x", "(-r) ^ x", "x ^ r",
        "x ^ x", "abs(x) * x", "mean(x, i) / x", "scan(sum, x * x, i)"})
    check_slopes(std::string("kernel k { in x : c128[i]; in r : f64[i]; out z = ") + e + " }",
                 {{"x", {3}}, {"r", {3}}});
  CHECK(code_of("accumulator a(s; m) { init s = 0; step s = 0.5 * s + m }\n"
                "kernel k { in x : c128[i]; out z = a(x, i) }") == "E0601");
}

TEST_CASE("an accumulator with a combine is derived over several axes, by rows") {
  const std::string own =
      "accumulator weighted(s, n; x, w) { init s = 0, n = 0; step s = s + x * w, n = n + w\n"
      "  combine s = s + s_other, n = n + n_other; result s / n }\n"
      "accumulator stable(m, s; x) { init m = -inf, s = 0\n"
      "  step m = maximum(m, x), s = s * exp(m - maximum(m, x)) + exp(x - maximum(m, x))\n"
      "  combine m = maximum(m, m_other), s = s * exp(m - maximum(m, m_other)) + "
      "s_other * exp(m_other - maximum(m, m_other)); result m + log(s) }\n"
      "accumulator affine(a, b; p, q) { init a = 1., b = 0.; step a = a * p, b = b * p + q\n"
      "  combine a = a * a_other, b = b * a_other + b_other; result b }\n"
      "accumulator last(v, c; x) { init v = 0, c = false; step v = x, c = true\n"
      "  combine v = c_other ? v_other : v, c = c || c_other }\n";
  for (const char *e :
       {"weighted((x, y), i, j)", "stable(x * y, i, k)", "stable(x) * y", "affine((x, y), i, j)",
        "affine((x, y), j, k, init=(2, 3)) * x", "last(x * x, i, j, k)", "weighted((y, x * x))",
        "weighted((x - stable(x, i, j), y), k, i)", "x > 0.2 ? stable(x * y, j, k) : 1"})
    check_slopes(own + "kernel k { in x : f64[i, j, k]; in y : f64[i]; out z = " + e + " }",
                 {{"x", {2, 3, 2}}, {"y", {2}}});
  for (const std::vector<std::int64_t> &y : {std::vector<std::int64_t>{1, 1}, {1, 3}, {2, 3}})
    check_slopes(own + "kernel k { in x : f64[:, :]; in y : f64[:, :]\n"
                       "out z = stable(x * y, 0, 1) * y; out w = weighted((y * y, x * x)) }",
                 {{"x", {2, 3}}, {"y", y}});
  // Integers are counted beside, and the greatest of equal elements share what flows to them.
  CHECK(code_of(own + "kernel k { in x : c128[i, j]; out z = last(x, i, j) }") == "E0601");
  const std::string peak = "accumulator peak(m; x) { init m = -inf; step m = maximum(m, x)\n"
                           "  combine m = maximum(m, m_other) }\n";
  const LoopSpec back =
      gradient(parse(peak + "kernel k { in x : f64[i, j]; out z = peak(x, i, j) }"), {"x"});
  const std::vector<double> ones(6, 1), one(1, 1);
  const std::vector<NamedView> inputs{{"x", View<const double>(ones.data(), {2, 3})},
                                      {"d_z", View<const double>(one.data(), {})}};
  const Array slopes = compile(back).call(inputs)[0].copy();
  double total = 0;
  for (int k = 0; k < 6; ++k) total += slopes.data<double>()[k];
  CHECK(total == 1);
}

TEST_CASE("an accumulator without a combine is derived over two axes, row by row in order") {
  const std::string own =
      "accumulator damped(a; m) { init a = 0; step a = 0.5 * a + m * m }\n"
      "accumulator two(a, n; x, w) { init a = 0, n = 0; step a = a * w + x + n, n = n + 1\n"
      "  result a / n }\n";
  for (const char *e :
       {"damped(x, i, j)", "damped(x * y - mean(x, i), k, i) * x", "two((x, y), i, k)",
        "damped(x, i, k, init=sin(z))", "damped(x, j, k, init=3) * damped(y * x, k, j)",
        "damped(damped(x, i, j) * x, i, k)"})
    check_slopes(
        own + "kernel k { in x : f64[i, j, k]; in y : f64[i]; in z : f64[j]; out o = " + e + " }",
        {{"x", {2, 3, 2}}, {"y", {2}}, {"z", {3}}});
  const std::string of = "kernel k { in x : f64[i, j, k]; out z = ";
  CHECK(code_of(own + of + "damped(x) }") == "E0601");
  CHECK(code_of(own + "kernel k { in x : f64[:, :]; out z = damped(x, 0, 1) }") == "E0601");
  // The values are those of the kernel, bit for bit.
  const LoopSpec spec = parse(own + "kernel k { in x : f32[i, j]; out z = damped(x, i, j) }");
  const std::vector<float> x{0.3f, 0.7f, -1.1f, 0.9f, 2.3f, 1e-3f};
  const std::vector<NamedView> inputs{{"x", View<const float>(x.data(), {2, 3})}};
  const float d_z = 1;
  std::vector<NamedView> with_slope = inputs;
  with_slope.push_back({"d_z", View<const float>(&d_z, {})});
  const LoopSpec both = gradient(spec, {"x"}, {.value = true});
  CHECK(compile(both).call(with_slope)["z"].copy().data<float>()[0] ==
        compile(spec).call(inputs)["z"].copy().data<float>()[0]);
}

TEST_CASE("slopes of what is made of a sum through a gather are read where the sum was added to") {
  const std::string in = "kernel k { in b : f64[:]; in e : f64[i]; in p : f64[q]\n"
                         "let k[i] = i64(iota(i, of=e) * 2 % 3)\n";
  for (const char *e :
       {"let s = exp(sum(e, like=b[k[i]])); out y = s", "out y = sin(sum(e * e, like=b[k[i]]))",
        "let s = exp(sum(e, like=b[k[i]])); out y = e / s[k[i]]",
        "let m = sum(e, like=b[k[i]]); let r = m * m; out y = e * r[k[i]] + m[k[i]]",
        "out y = exp(sum(e, like=p[k[i]])) * p"})
    check_slopes(in + e + " }", {{"b", {3}}, {"e", {4}}, {"p", {3}}});
}

TEST_CASE("remainders have slopes in both arguments") {
  for (const char *e : {"x % y", "fmod(x, y)", "(-x) % y", "fmod(-x, y)", "x - x // y"})
    check_slopes(std::string("kernel k { in x : f64[i]; in y : f64; out z = ") + e + " }",
                 {{"x", {5}}, {"y", {}}});
}

TEST_CASE("a power that is 0 does not change with its exponent") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  CHECK(slope("inf ^ x", {-2, -0.5}) == std::vector<double>{0, 0});
  CHECK(slope("(-inf) ^ x", {-3}) == std::vector<double>{0});
  CHECK(slope("0. ^ x", {0, 2, -1}) == std::vector<double>{0, 0, -inf});
}

TEST_CASE("nothing leaks through a branch not taken where a fold or a scan stands between") {
  const LoopSpec spec = gradient(
      parse("kernel k { in x : f64[i, j]; in y : f64[i]; out z = where(x > 0, x * log(y), 0) }"),
      {"y"});
  const std::vector<double> x{1, 2, -1, -2}, y{2, 0}, g(4, 1);
  const Results r = compile(spec)({{"x", View<const double>(x.data(), {2, 2})},
                                   {"y", View<const double>(y.data(), {2})},
                                   {"d_z", View<const double>(g.data(), {2, 2})}});
  CHECK(r["d_y"].data<double>()[0] == 1.5);
  CHECK(r["d_y"].data<double>()[1] == 0);
  CHECK(slope("where(x > 5, scan(sum, log(x), i), 1)", {0, -1, 2}) == std::vector<double>{0, 0, 0});
  CHECK(slope("where(sum(x) > 9, scan(prod, sqrt(x), i), 1)", {0, 1}) == std::vector<double>{0, 0});
}

TEST_CASE("masks hold where values of a repeated 1 are put together") {
  check_slopes("kernel k { in x : f64[:]; in y : f64[:]\nlet t = exp(x)\n"
               "out z = where(y > 0.7, t, 0) + where(y > 0.9, t * y, 0) }",
               {{"x", {1}}, {"y", {5}}});
}

TEST_CASE("what flows from inputs of extent 1 is not repeated along those of more") {
  check_slopes("kernel k { in x : f64[k=1]; in z : f64[k]; in y : f64\n"
               "out a = sum(x * y); out b = sum(z * y); out c = sum(x * y * y) * sum(z * y) }",
               {{"x", {1}}, {"z", {3}}, {"y", {}}});
}

TEST_CASE("an output of unlabelled inputs has a cotangent of its own extents, whatever labels "
          "stand beside") {
  const LoopSpec spec =
      gradient(parse("kernel k { stretch off; in x : f64[i, j]; in z : f64[:, :]\n"
                     "out a = x; out b = exp(z) }"),
               {"x", "z"});
  const Array x = filled({"x", {2, 3}}, f64), z = filled({"z", {2, 1}}, f64);
  const Results r = compile(spec)({{"x", x}, {"z", z}, {"d_a", x}, {"d_b", z}});
  CHECK(r["d_z"].data<double>()[1] ==
        doctest::Approx(z.data<double>()[1] * std::exp(z.data<double>()[1])));
}

TEST_CASE("what comes back through acc= is summed so, where it came no other way") {
  const auto of = [](const std::string &outputs) {
    return print(
        gradient(parse("kernel k { in x : f32[i, k]; in w : f32[j, k]\n" + outputs + " }"), {"w"}));
  };
  const auto has = [](const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(of("out y[i, j] = sum(x * w, k, acc=f32)"), "reduce(sum, acc=f32, like=w) d_y * x"));
  CHECK(has(of("out y[i, j] = exp(sum(tanh(x) * w, k, acc=f32))"), "acc=f32, like=w"));
  CHECK(!has(of("out y[i, j] = sum(x * w, k)"), "acc"));
  CHECK(!has(of("out y[i, j] = sum(x * w, k, acc=f32); out z[j] = sum(w, k)"), "acc=f32, like=w"));
  CHECK(!has(of("out y[i, j] = sum(x * w, k, acc=f16)"), "acc")); // too few digits
}
