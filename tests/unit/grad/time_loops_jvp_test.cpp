// Forward mode of lets that read themselves: for any weights w, the sum of w * t_y is that of d_x *
// t_x, d_x being the gradient for cotangents w, and what it prints is a kernel whose slopes are
// right.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

struct Given {
  std::string name;
  std::vector<std::int64_t> shape;
};

Array random_array(const std::vector<std::int64_t> &shape, std::uint64_t &state) {
  Array array(DType::F64, shape);
  for (std::int64_t k = 0; k < array.size(); ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    array.data<double>()[k] = 0.8 * (double(state >> 33) / double(1u << 31) * 2 - 1);
  }
  return array;
}

double dot(const Array &a, const Array &b) {
  REQUIRE(a.size() == b.size());
  const Array x = a.copy(), y = b.copy();
  double sum = 0;
  for (std::int64_t k = 0; k < x.size(); ++k) sum += x.data<double>()[k] * y.data<double>()[k];
  return sum;
}

void check_both(const std::string &body, const std::vector<Given> &given) {
  const LoopSpec spec = parse("kernel k {\n" + body + "\n}");
  std::vector<std::string> wrt;
  for (const Given &one : given) wrt.push_back(one.name);
  const LoopSpec forward = jvp(spec, wrt), back = gradient(spec, wrt);
  CAPTURE(print(forward));
  const std::string read = print(parse(print(forward)));
  CHECK(print(parse(read)) == read);
  std::uint64_t state = 1;
  std::vector<Array> values, tangents;
  std::vector<std::pair<std::string, const Array *>> inputs, moving;
  values.reserve(given.size());
  tangents.reserve(given.size());
  for (const Given &one : given) {
    inputs.emplace_back(one.name, &values.emplace_back(random_array(one.shape, state)));
    moving.emplace_back("t_" + one.name, &tangents.emplace_back(random_array(one.shape, state)));
  }
  std::vector<NamedView> all;
  for (const auto &[name, array] : inputs) all.push_back({name, *array});
  for (const auto &[name, array] : moving) all.push_back({name, *array});
  const GradientCheck check = check_gradient(forward, all);
  CHECK(check.passed());
  for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference})
    for (const LoopSpec &one : {forward, parse(read)}) {
      const Array moved = compile(one, {.engine = engine}).call(all)["t_y"].copy();
      const Array weights = random_array({moved.shape().begin(), moved.shape().end()}, state);
      std::vector<NamedView> with_weights;
      for (const auto &[name, array] : inputs) with_weights.push_back({name, *array});
      with_weights.push_back({"d_y", weights});
      const Results slopes = compile(back, {.engine = engine}).call(with_weights);
      double sum = 0;
      for (std::size_t k = 0; k < given.size(); ++k)
        sum += dot(slopes["d_" + given[k].name], tangents[k]);
      CHECK(dot(moved, weights) == doctest::Approx(sum).epsilon(1e-9));
    }
}

} // namespace

TEST_CASE("the tangent of a let that reads itself is a let that reads itself") {
  const LoopSpec spec = parse("kernel k { in x : f64[t]; in s0 : f64\n"
                              "let s[t] = x + 0.9 * s[t + 1] from s0\nout y[t] = s }");
  CHECK(print(jvp(spec, {"x", "s0"})) == R"(kernel k_jvp {
  in  x : f64[t]
  in  s0 : f64
  in  t_x : f64[t]
  in  t_s0 : f64
  let s[t] = x + 0.9 * s[t + 1] from s0
  let t_s[t] = t_x + t_s[t + 1] * 0.9 from t_s0
  out t_y[t] : f64 = t_s[t]
}
)");
}

TEST_CASE("what moves forward through a recurrent network meets its gradient") {
  check_both("in x : f64[t, n, c]\nin w : f64[c, i]\nin v : f64[k, i]\nin h0 : f64[n, k]\n"
             "let h[t, n, i] = tanh(sum(x * w, c) + sum(h[t - 1, n, k] * v, k)) from h0\n"
             "out y[n, i] = h[-1, n, i]",
             {{"x", {4, 2, 2}}, {"w", {2, 3}}, {"v", {3, 3}}, {"h0", {2, 3}}});
}

TEST_CASE(
    "what loops begin from moves forward, whatever order lets and inputs list their dims in") {
  const std::string loop = "let a[t < 2, n, i] = a[t - 1, n, i] * a[t - 1, n, i] + z from ";
  const std::string other = "let a[p, t < 2, q] = a[p, t - 1, q] * a[p, t - 1, q] from ";
  const std::string ordered = "out y[n, i] = a[-1, n, i]", named = "out y[i, n] = a[i, -1, n]";
  const std::string product = "in H : f64[i]\nin z : f64[n]\nlet A[n, i] = sin(z * H + H)\n";
  const std::vector<Given> given{{"H", {2}}, {"z", {3}}};
  for (const char *start : {"A", "A * z"}) {
    check_both(product + loop + start + "\n" + ordered, given);
    check_both(product + other + start + "\n" + named, given);
  }
  const std::vector<Given> all{{"H", {2}}, {"z", {3}}, {"A", {3, 2}}};
  for (const char *start : {"A", "A * z"}) {
    const std::string inputs = "in H : f64[i]\nin z : f64[n]\nin A : f64[n, i]\n";
    check_both(inputs + loop + start + " + H\n" + ordered, all);
    check_both(inputs + loop + start + "\n" + ordered, all);
    check_both(inputs + other + start + "\n" + named, all);
  }
}

TEST_CASE("what moves forward goes through lets of one loop, and past those of integers") {
  check_both("in x : f64[t, i]\nin v : f64[k, i]\n"
             "let c[t, i] = c[t - 1, i] * 0.5 + tanh(x + sum(h[t - 1, k] * v, k))\n"
             "let h[t, i] = tanh(c)\nout y[t, i] = h",
             {{"x", {4, 3}}, {"v", {3, 3}}});
  check_both("in x : f64[t, i]\nin u0 : f64[i]\n"
             "let n[t, i] = n[t - 1, i] + i64(u[t - 1, i] > 0.5) from 1\n"
             "let u[t, i] = sin(x) * n[t, i] + 0.5 * u[t - 1, i] * f64(n[t - 1, i]) from u0\n"
             "out y[t, i] = u * n",
             {{"x", {4, 3}}, {"u0", {3}}});
}

TEST_CASE("what moves forward goes through windows of earlier steps, with any padding") {
  for (const std::string mode : {"zero", "2", "edge", "wrap", "reflect"})
    check_both("in u0 : f64[i]\nin w : f64[k]\n"
               "let u[t < 4, i] = sin(sum(pad(u, 1: (2, 1), " +
                   mode + ")[t - 1, i + k] * w, k)) + u[t - 1, 0] from u0\nout y[t, i] = u",
               {{"u0", {3}}, {"w", {4}}});
}

TEST_CASE("what moves forward goes through larger lags, backwards, and from any start") {
  for (const std::string start :
       {"", " from 2", " from s0", " from sin(s0) * s0[0]", " from s0[1]"})
    for (const std::string by : {" - ", " + "})
      check_both("in x : f64[t, i]\nin s0 : f64[i]\n"
                 "let s[t, i] = sin(s[t" +
                     by + "1, i]) * s[t" + by + "3, i] + x * iota(t) / extent(t)" + start +
                     "\nout y[t, i] = s * s0",
                 {{"x", {5, 3}}, {"s0", {3}}});
}

TEST_CASE("a tangent that reads none of an earlier step begins with nothing") {
  check_both("in x : f64[t, i]\nin u0 : f64[i]\nin v0 : f64[i]\n"
             "let u[t, i] = sign(u[t - 1, i]) * x from u0\nout y[t, i] = u * u0 * v0",
             {{"x", {4, 3}}, {"u0", {3}}, {"v0", {3}}});
  check_both("in x : f64[t, i]\nin u0 : f64[i]\nin v0 : f64[i]\n" // the tangents are no circle
             "let u[t, i] = sign(v[t - 1, i]) * x + 0.5 * u[t - 1, i] from u0\n"
             "let v[t, i] = sin(u[t - 1, i]) + pad(u, 1: (1, 1), edge)[t - 1, i + 2] from 2 * v0\n"
             "out y[t, i] = u * v",
             {{"x", {4, 3}}, {"u0", {3}}, {"v0", {3}}});
}

TEST_CASE("a tangent has as many steps as its let, where that reads more of what does not move") {
  check_both("in x : f64[:, :]\nin c : f64\n"
             "let u[t, i] = u[t - 1, i] * c + x[t, i] from 0.3\nout y[i] = u[-1, i]",
             {{"x", {4, 3}}, {"c", {}}});
  const LoopSpec spec = jvp(parse("kernel k { in x : f64[:, :]; in c : f64\n"
                                  "let u[t, i] = u[t - 1, i] * c + x[t, i] from 0.3\n"
                                  "out y[i] = u[-1, i] }"),
                            {"c"});
  std::uint64_t state = 3;
  const Array x = random_array({4, 2}, state), c = random_array({}, state);
  const double factor = c.data<double>()[0];
  Array moving(DType::F64, {});
  moving.data<double>()[0] = 1;
  const std::vector<NamedView> inputs{{"x", x}, {"c", c}, {"t_c", moving}};
  const Array made = compile(spec).call(inputs)["t_y"].copy();
  for (int i = 0; i < 2; ++i) {
    double u = 0.3, t_u = 0;
    for (int t = 0; t < 4; ++t) {
      t_u = t_u * factor + u;
      u = u * factor + x.data<double>()[t * 2 + i];
    }
    CHECK(made.data<double>()[i] == doctest::Approx(t_u).epsilon(1e-12));
  }
}

TEST_CASE("directional derivatives through loops are derived again, and go through gradients") {
  const LoopSpec spec = parse("kernel k { in u0 : f64[i]; in w : f64[k]\n"
                              "let u[t < 3, i] = sin(sum(pad(u, 1: (1, 1), edge)[t - 1, i + k]"
                              " * w, k)) from u0\nout y[i] = u[-1, i] }");
  std::uint64_t state = 5;
  const Array u0 = random_array({3}, state), w = random_array({3}, state),
              one = random_array({3}, state), two = random_array({3}, state);
  const LoopSpec twice = jvp(jvp(spec, {"u0"}), {"w"}), mixed = jvp(gradient(spec, {"u0"}), {"u0"});
  const std::vector<NamedView> of_twice{{"u0", u0}, {"w", w}, {"t_u0", one}, {"t_w", two}};
  const std::vector<NamedView> of_mixed{{"u0", u0}, {"w", w}, {"d_y", one}, {"t_u0", two}};
  CHECK(check_gradient(twice, of_twice).passed());
  CHECK(check_gradient(mixed, of_mixed).passed());
}

TEST_CASE("a loop moves whose start is a function, of which the slope is made of the value") {
  for (const char *start : {"sqrt(2 + s)", "exp(s)", "tanh(s)", "sigmoid(s)"})
    check_both("in x : f64[t, i]; in s : f64[i]\n"
               "let h[t, i] = sin(h[t - 1, i]) * x from 1 + " +
                   std::string(start) + "\nout y = h",
               {{"x", {3, 2}}, {"s", {2}}});
}

TEST_CASE("a directional derivative of a loop is derived again, whatever it begins with") {
  const LoopSpec spec = parse("kernel k { in x : f64[t, i]; in s : f64[i]\n"
                              "let h[t, i] = sin(h[t - 1, i]) + x from erf(s)\nout y = h }");
  std::uint64_t state = 9;
  const Array x = random_array({3, 2}, state), s = random_array({2}, state),
              one = random_array({2}, state), two = random_array({2}, state);
  const LoopSpec once = jvp(spec, {"s"}), twice = jvp(once, {"s"});
  const std::vector<NamedView> inputs{{"x", x}, {"s", s}, {"t_s", one}, {"t_s_2", two}};
  const Array made = compile(twice).call(inputs)["t_t_y"].copy();
  // The same by a difference of first derivatives.
  const auto slope = [&](double step) {
    const Array moved = s.copy();
    for (int i = 0; i < 2; ++i) moved.data<double>()[i] += step * two.data<double>()[i];
    const std::vector<NamedView> there{{"x", x}, {"s", moved}, {"t_s", one}};
    return compile(once).call(there)["t_y"].copy();
  };
  const Array after = slope(1e-5), before = slope(-1e-5);
  for (std::int64_t k = 0; k < made.size(); ++k) {
    const double measured = (after.data<double>()[k] - before.data<double>()[k]) / 2e-5;
    CHECK(made.data<double>()[k] == doctest::Approx(measured).epsilon(1e-6));
  }
}

TEST_CASE("a tangent names a let of its own loop for an extent") {
  const LoopSpec spec =
      parse_all("accumulator r(a; b) { init a = 0; step a = (b + a) / 9 }\n"
                "kernel k { in x : f64[i]; let b[s < 3, i] = a[s - 1, i] * 2\n"
                "let a[s < 3, i] = where(iota(i) > 0, scan(r, b[s, i], i), a[s - 1, i]) from x\n"
                "out y[i] = a[-1, i] }")
          .back();
  const LoopSpec forward = jvp(spec, {"x"});
  Array x(DType::F64, {3}), t_x(DType::F64, {3});
  for (const int k : {0, 1, 2}) x.data<double>()[k] = k + 1, t_x.data<double>()[k] = 3 - k;
  CHECK(check_gradient(forward, {{"x", x}, {"t_x", t_x}}).passed());
}

TEST_CASE(
    "what moves forward goes through rows of the step's own number, and starts of other loops") {
  check_both("in a : f64[:, :]\nlet m[i, j] = a[i, j] + where(iota(i) == iota(j), 4, 0)\n"
             "let s[t, i, j] = s[t - 1, i, j] - where(iota(i) > iota(t), "
             "s[t - 1, i, t] / s[t - 1, t, t] * s[t - 1, t, j], 0) from m[i, j]\n"
             "out y[t, i, j] = s",
             {{"a", {3, 3}}});
  check_both("in x : f64[t, i]\nin z0 : f64[i]\nlet z[t, i] = sin(z[t - 1, i]) * x from z0\n"
             "let p[t, i] = 0.5 * p[t - 1, i] + z[t - 1, i] * z[t - 2, i]\nout y[t, i] = p",
             {{"x", {4, 2}}, {"z0", {2}}});
}

TEST_CASE("a step that names a let of its own loop for an extent moves forward and back") {
  check_both(
      "in x : f64[:]\nlet b[t < 2, i] = a[t - 1, i] * 2\n"
      "let a[t < 2, i] = b[t, i] * iota(i, of=b[t - 1, i]) + extent(i, of=b[t, i]) from x[i]\n"
      "out y[t, i] = a",
      {{"x", {3}}});
}
