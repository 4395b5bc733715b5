// Gradients of lets that read themselves: held against slopes, and derived again.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

// Random inputs of these shapes.
struct Given {
  std::string name;
  std::vector<std::int64_t> shape;
};

std::vector<Array> arrays_of(const std::vector<Given> &given, double scale) {
  std::vector<Array> arrays;
  std::uint64_t state = 1;
  for (const Given &one : given) {
    Array &array = arrays.emplace_back(DType::F64, one.shape);
    for (std::int64_t k = 0; k < array.size(); ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      array.data<double>()[k] = scale * (double(state >> 33) / double(1u << 31) * 2 - 1);
    }
  }
  return arrays;
}

void check_slopes(const LoopSpec &spec, const std::vector<Given> &given) {
  const std::vector<Array> arrays = arrays_of(given, 0.8);
  std::vector<NamedView> inputs;
  for (std::size_t k = 0; k < given.size(); ++k) inputs.push_back({given[k].name, arrays[k]});
  const GradientCheck check = check_gradient(spec, inputs);
  CHECK(check.passed());
  for (const SlopeCheck &slope : check.slopes) {
    CAPTURE(slope.input);
    CHECK(slope.slope == Slope::agrees);
  }
}

void first_and_second(const std::string &body, const std::vector<Given> &given,
                      const std::vector<std::string> &wrt, const std::vector<Given> &cotangents) {
  const LoopSpec spec = parse("kernel k {\n" + body + "\n}");
  check_slopes(spec, given);
  const LoopSpec derived = gradient(spec, wrt);
  const std::string read = print(parse(print(derived))); // where `let a = b` is another name of b
  CHECK(print(parse(read)) == read);
  std::vector<Given> all = given;
  all.insert(all.end(), cotangents.begin(), cotangents.end());
  check_slopes(derived, all);
}

} // namespace

TEST_CASE(
    "the gradient of a recurrent network is that of its slopes, also by what it begins with") {
  first_and_second("in x : f64[t, n, c]\nin w : f64[c, i]\nin v : f64[k, i]\nin h0 : f64[n, k]\n"
                   "let h[t, n, i] = tanh(sum(x * w, c) + sum(h[t - 1, n, k] * v, k)) from h0\n"
                   "out y[n, i] = h[-1, n, i]",
                   {{"x", {4, 2, 2}}, {"w", {2, 3}}, {"v", {3, 3}}, {"h0", {2, 3}}},
                   {"x", "w", "v", "h0"}, {{"d_y", {2, 3}}});
}

TEST_CASE("the gradient of a loop reads what it begins from by the dims that this lists") {
  const LoopSpec back =
      gradient(parse("kernel k { in H : f64[i]; in z : f64[n]; let A[n, i] = z * H\n"
                     "let a[t < 2, n, i] = a[t - 1, n, i] * a[t - 1, n, i] from A; out y[n, i] = "
                     "a[-1, n, i] }"),
               {"z"});
  const double H[] = {1, 2}, z[] = {1, 3}, d_y[] = {0, 1, 0, 0};
  const std::vector<NamedView> given{{"H", View<const double>(H, {2})},
                                     {"z", View<const double>(z, {2})},
                                     {"d_y", View<const double>(d_y, {2, 2})}};
  const Array d_z = compile(back).call(given)["d_z"].copy();
  CHECK(d_z.data<double>()[0] == 64); // 4 z^3 H^4
  CHECK(d_z.data<double>()[1] == 0);
}

TEST_CASE(
    "gradients go to what loops begin from, whatever order lets and inputs list their dims in") {
  const std::string loop = "let a[t < 2, n, i] = a[t - 1, n, i] * a[t - 1, n, i] + z from ";
  const std::string other = "let a[p, t < 2, q] = a[p, t - 1, q] * a[p, t - 1, q] from ";
  const std::string ordered = "out y[n, i] = a[-1, n, i]", named = "out y[i, n] = a[i, -1, n]";
  const std::string product = "in H : f64[i]\nin z : f64[n]\nlet A[n, i] = sin(z * H + H)\n";
  const std::vector<Given> given{{"H", {2}}, {"z", {3}}};
  first_and_second(product + loop + "A\n" + ordered, given, {"H", "z"}, {{"d_y", {3, 2}}});
  first_and_second(product + "let B = A\n" + loop + "B\n" + ordered, given, {"H", "z"},
                   {{"d_y", {3, 2}}});
  first_and_second(product + other + "A\n" + named, given, {"H", "z"}, {{"d_y", {2, 3}}});
  first_and_second("in H : f64[i]\nin z : f64[n]\nin A : f64[n, i]\n" + loop + "A\n" + ordered,
                   {{"H", {2}}, {"z", {3}}, {"A", {3, 2}}}, {"z", "A"}, {{"d_y", {3, 2}}});
  first_and_second("in H : f64[i]\nin z : f64[n]\nin A : f64[n, i]\n" + other + "A\n" + named,
                   {{"H", {2}}, {"z", {3}}, {"A", {3, 2}}}, {"A"}, {{"d_y", {2, 3}}});
}

TEST_CASE("gradients go through lets that read each other") {
  first_and_second("in x : f64[t, i]\nin u : f64[k, i]\nin f : f64[i]\n"
                   "let c[t, i] = f * c[t - 1, i] + sin(x + sum(h[t - 1, k] * u, k))\n"
                   "let h[t, i] = tanh(c) * f\n"
                   "out y[t, i] = h",
                   {{"x", {3, 2}}, {"u", {2, 2}}, {"f", {2}}}, {"x", "u", "f"}, {{"d_y", {3, 2}}});
}

TEST_CASE("gradients go through two earlier steps, and to what stands for both") {
  first_and_second("in x : f64[t]\nin a : f64\nin s0 : f64\n"
                   "let s[t] = a * s[t - 1] * s[t - 2] + x from s0\nout y[t] = s",
                   {{"x", {5}}, {"a", {}}, {"s0", {}}}, {"x", "a", "s0"}, {{"d_y", {5}}});
}

TEST_CASE("gradients go through loops that run backwards") {
  first_and_second("in x : f64[t, i]\nin a : f64[i]\nin s0 : f64[i]\n"
                   "let s[t, i] = sin(a * s[t + 1, i]) + x from s0 * 2\nout y[t, i] = s * s",
                   {{"x", {4, 2}}, {"a", {2}}, {"s0", {2}}}, {"x", "a", "s0"}, {{"d_y", {4, 2}}});
}

TEST_CASE("gradients go through steps that are counted and numbered") {
  first_and_second("in a : f64[i]\n"
                   "let u[t < 4, i] = u[t - 1, i] * sin(a) + a / (iota(t) + extent(t)) from a\n"
                   "out y[i] = u[-1, i]",
                   {{"a", {3}}}, {"a"}, {{"d_y", {3}}});
}

TEST_CASE("gradients go through a read that is folded as a whole") {
  first_and_second("in x : f64[t, i]\nlet s[t, i] = x + sin(mean(s[t - 1, k], k))\nout y[t, i] = s",
                   {{"x", {4, 3}}}, {"x"}, {{"d_y", {4, 3}}});
}

TEST_CASE("a short loop sends nothing to a start that stands further back") {
  const LoopSpec spec =
      parse("kernel k { in x : f64[t]; in a : f64; let s[t] = x + s[t - 3] from a\n"
            "out y[t] = s }");
  check_slopes(spec, {{"x", {2}}, {"a", {}}});
}

TEST_CASE("gradients go back through windows of an earlier step, with any padding") {
  for (const std::string mode : {"zero", "2", "edge", "wrap", "reflect"}) {
    CAPTURE(mode);
    const std::string pad = "pad(u, 1: (2, 2), " + mode + ")";
    first_and_second("in u0 : f64[i]\nin c : f64\n"
                     "let u[t < 3, i] = c * " +
                         pad + "[t - 1, i] * " + pad +
                         "[t - 1, i + 4] + u[t - 1, i] from u0\nout y[t, i] = u * u",
                     {{"u0", {3}}, {"c", {}}}, {"u0", "c"}, {{"d_y", {3, 3}}});
  }
}

TEST_CASE("gradients go back through convolutions of an earlier step") {
  first_and_second("in u0 : f64[i]\nin w : f64[k]\nin x : f64[t, i]\n"
                   "let u[t, i] = tanh(sum(pad(u, 1: (1, 1), edge)[t - 1, i + k] * w, k) + x)"
                   " from u0\nout y[t, i] = u * u",
                   {{"u0", {4}}, {"w", {3}}, {"x", {3, 4}}}, {"u0", "w", "x"}, {{"d_y", {3, 4}}});
  check_slopes(parse("kernel k { in u0 : f64[c, i, j]; in w : f64[o, c, k, l]\n"
                     "let u[t < 3, o, i, j] = sin(sum(pad(u, 2: (1, 1), 3: (1, 1), wrap)"
                     "[t - 1, c, i + k, j + l] * w, c, k, l)) from u0\n"
                     "out y[o, i, j] = u[-1, o, i, j] }"),
               {{"u0", {2, 3, 3}}, {"w", {2, 2, 3, 3}}});
}

TEST_CASE("gradients go back through strides, single elements and diagonals of an earlier step") {
  first_and_second("in u0 : f64[i]\nin w : f64[k]\n"
                   "let u[t < 3, i] = sum(pad(u, 1: (0, 5))[t - 1, 2*i + k] * w, k) +"
                   " u[t - 1, 0] * u[t - 1, i] + u[t - 1, -1] from u0\nout y[t, i] = u * u",
                   {{"u0", {4}}, {"w", {3}}}, {"u0", "w"}, {{"d_y", {3, 4}}});
  first_and_second("in s : f64[i, j]\nin w : f64[k]\n"
                   "let u[t < 3, i, j] = u[t - 1, i, i] * u[t - 1, j, i] +"
                   " sum(pad(u, 1: (0, 1), 2: (0, 1), edge)[t - 1, i + k, j + k] * w, k) from s\n"
                   "out y[i, j] = u[-1, i, j]",
                   {{"s", {3, 3}}, {"w", {2}}}, {"s", "w"}, {{"d_y", {3, 3}}});
}

TEST_CASE("gradients go back through rows and columns of the step's own number") {
  first_and_second(
      "in a : f64[:, :]\n" // the symmetric part and 4 on the diagonal: no root of less than 0
      "let m[i, j] = a[i, j] + a[j, i] + where(iota(i) == iota(j), 4, 0)\n"
      "let l[t, i] = where(iota(i) < iota(t), 0, s[t - 1, i, t] / sqrt(s[t - 1, t, t]))\n"
      "let s[t, i, j] = s[t - 1, i, j] - l[t, i] * l[t, j] from m[i, j]\n"
      "out y[t, i] = l",
      {{"a", {3, 3}}}, {"a"}, {{"d_y", {3, 3}}});
  for (const std::string read :
       {"s[t - 1, t + 1]", "s[t - 1, -t] * s[t - 2, 2*t]", "s[t - 1, 4 - t]",
        "pad(s, 1: (1, 1), edge)[t - 1, t + 2]", "sum(s[t - 1, t + k] * w, k)"})
    for (const std::string start : {"", " from 2", " from b[i]"})
      first_and_second(
          "in x : f64[:, :]\nin w : f64[k]\nin b : f64[:]\n"
          "let s[t < 3, i] = sin(x[t, i]) * (1 + " +
              read + ") + sum(w, k)" + start + "\nout y[t, i] = s\nout z = sum(b[n] * w[0], n)",
          {{"x", {3, 5}}, {"w", {2}}, {"b", {5}}}, {"x", "w", "b"}, {{"d_y", {3, 5}}, {"d_z", {}}});
  first_and_second("in x : f64[t, i]\n"
                   "let s[t, i] = x * s[t + 1, t] + s[t + 1, i] from 1.5\nout y[t, i] = s",
                   {{"x", {3, 4}}}, {"x"}, {{"d_y", {3, 4}}});
}

TEST_CASE("gradients go to the start of another loop that a step reads before the first one") {
  first_and_second("in x : f64[t, i]\nin z0 : f64[i]\n"
                   "let z[t, i] = sin(z[t - 1, i]) * x from z0\n"
                   "let p[t, i] = 0.5 * p[t - 1, i] + z[t - 1, i] * z[t - 2, i]\nout y[t, i] = p",
                   {{"x", {4, 2}}, {"z0", {2}}}, {"x", "z0"}, {{"d_y", {4, 2}}});
}

TEST_CASE("gradients go back through windows of several steps, and of loops that run backwards") {
  first_and_second("in u0 : f64[i]\nin x : f64[t, i]\n"
                   "let u[t, i] = 2 * u[t - 1, i] - u[t - 2, i] + 0.1 * x * "
                   "(pad(u, 1: (1, 1), edge)[t - 1, i + 2] + pad(u, 1: (1, 1), edge)[t - 2, i])"
                   " from u0\nout y[t, i] = u * u",
                   {{"u0", {3}}, {"x", {4, 3}}}, {"u0", "x"}, {{"d_y", {4, 3}}});
  first_and_second("in u0 : f64[i]\nin x : f64[t, i]\n"
                   "let u[t, i] = sin(u[t + 1, i]) + 0.3 * x * pad(u, 1: (1, 1), edge)"
                   "[t + 1, i + 2] * pad(u, 1: (1, 1), reflect)[t + 2, i] from u0\n"
                   "out y[t, i] = u * u",
                   {{"u0", {3}}, {"x", {4, 3}}}, {"u0", "x"}, {{"d_y", {4, 3}}});
}

TEST_CASE("gradients go back through windows of lets that go step by step together") {
  first_and_second("in p0 : f64[i]\nin v0 : f64[i]\nin c : f64[i]\n"
                   "let v[t < 3, i] = v[t - 1, i] + c * (pad(p, 1: (1, 1), edge)[t - 1, i + 2] -"
                   " 2 * p[t - 1, i] + pad(p, 1: (1, 1), edge)[t - 1, i]) from v0\n"
                   "let p[t, i] = p[t - 1, i] + 0.5 * v[t, i] * sin(pad(v, 1: (1, 1))[t, i + 2])"
                   " from p0\nout y[t, i] = p * v",
                   {{"p0", {4}}, {"v0", {4}}, {"c", {4}}}, {"p0", "v0", "c"}, {{"d_y", {3, 4}}});
}

TEST_CASE("gradients go back through windows from zeros, a number, an expression, and of any dim") {
  for (const std::string start : {"", " from 2", " from sin(s)", " from s[0]"})
    first_and_second("in x : f64[t, i]\nin s : f64[i]\n"
                     "let u[t, i] = x + sin(pad(u, 1: (1, 0), edge)[t - 1, i])" +
                         start + "\nout y[t, i] = u * s",
                     {{"x", {4, 3}}, {"s", {3}}}, {"x", "s"}, {{"d_y", {4, 3}}});
  first_and_second("in x : f64[i, t]\nin s : f64[i]\n"
                   "let u[i, t] = x + sin(pad(u, 0: (1, 0), edge)[i, t - 1]) * iota(t) from s\n"
                   "out y[i, t] = u * u",
                   {{"x", {3, 4}}, {"s", {3}}}, {"x", "s"}, {{"d_y", {3, 4}}});
}

TEST_CASE("what flows back through one let of a loop alone ends with the steps") {
  const std::vector<Given> given{{"x", {4, 3}}, {"u0", {3}}, {"v0", {3}}};
  for (const std::string by : {" - ", " + "})
    check_slopes(parse("kernel k { in x : f64[t, i]; in u0 : f64[i]; in v0 : f64[i]\n"
                       "let u[t, i] = sign(v[t" +
                       by + "1, i]) * x + 0.5 * u[t" + by +
                       "1, i] from u0\n"
                       "let v[t, i] = sin(u[t" +
                       by + "2, i]) + pad(u, 1: (1, 1), edge)[t" + by +
                       "1, i + 2] from 2 * v0\nout y[t, i] = u * v }"),
                 given);
}

TEST_CASE("a read of an earlier step may be shorter than its padding lets it be") {
  // Without the read of x nothing but a padded array would bound what flows back.
  first_and_second("in x : f64[:, :]\nin c : f64\n"
                   "let u[t, i] = u[t - 1, i] * c * pad(u, 1: (1, 1), wrap)[t - 1, i] + x[t, i]\n"
                   "out y[i] = u[-1, i]",
                   {{"x", {4, 3}}, {"c", {}}}, {"x", "c"}, {{"d_y", {3}}});
}

TEST_CASE("what reads one step alone sends to that step, and not to an array of all steps") {
  const auto derived = [](const std::string &lets) {
    return print(
        gradient(parse("kernel k { in u0 : f64[i]; in w : f64[i]\n" + lets + " }"), {"u0", "w"}));
  };
  const std::string loop = "let u[t < 5, i] = sin(u[t - 1, i] * w[i] * iota(t)) from u0\n";
  const auto has = [&](const std::string &reads, const std::string &part) {
    const std::string text = derived(loop + reads);
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    first_and_second("in u0 : f64[i]\nin w : f64[i]\n" + loop + reads, {{"u0", {3}}, {"w", {3}}},
                     {"u0", "w"}, {{"d_y", {3}}});
  };
  has("out y[i] = u[-1, i]", "let d_u[t < 5, i] = where(iota(t) == 4, d_y, 0) + d_u_1[t + 1, i]");
  has("out y[i] = u[-2, i] * w[i]", "where(iota(t) == 3, d_y * w[i], 0)");
  has("out y[i] = u[-1, i] + u[1, i]", "where(iota(t) == 4, d_y, 0) + where(iota(t) == 1, d_y, 0)");
  has("out y[i] = sum(u[t, i], t) + u[2, i]", "= g_u[t, i] + where(iota(t) == 2, d_y, 0)");
  has("out y[i] = u[-1, -i]", "let g_u = sum(d_y, like=u[-1, -i])"); // along i, too
  has("out y[j] = u[0, j]", "let g_u = sum(d_y, like=u[0, j])");
}

TEST_CASE("what takes long is computed once for all elements that a window reads") {
  const std::string text =
      print(gradient(parse("kernel k { in x : f64[t, i]; in w : f64[k]\n"
                           "let u[t, i] = tanh(sum(pad(u, 1: (1, 1))[t - 1, i + k] * w, k) + x)\n"
                           "out y[t, i] = u }"),
                     {"x"}));
  CAPTURE(text);
  CHECK(text.find("let d_u_part[t, i] = ") != text.npos);
  CHECK(text.find("sum(d_u_part[t, i] * w, like=pad(u, 1: (1, 1))[t, i + k])") != text.npos);
}

TEST_CASE("the gradient of the heat equation is its transpose, step for step") {
  const LoopSpec spec =
      gradient(parse("kernel heat { in u0 : f64[i]\n"
                     "let u[t < 20, i] = u[t - 1, i] / 2 + (pad(u, 1: (1, 1), edge)[t - 1, i] +"
                     " pad(u, 1: (1, 1), edge)[t - 1, i + 2]) / 4 from u0\n"
                     "out y[i] = u[-1, i] }"),
               {"u0"});
  constexpr int n = 7;
  const std::vector<Array> given = arrays_of({{"u0", {n}}, {"d_y", {n}}}, 1);
  std::vector<double> g(given[1].data<double>(), given[1].data<double>() + n);
  for (int step = 0; step < 20; ++step) {
    std::vector<double> back(n);
    for (int i = 0; i < n; ++i) {
      back[std::size_t(i)] += g[std::size_t(i)] / 2;
      back[std::size_t(std::max(i - 1, 0))] += g[std::size_t(i)] / 4;
      back[std::size_t(std::min(i + 1, n - 1))] += g[std::size_t(i)] / 4;
    }
    g = back;
  }
  const std::vector<NamedView> inputs{{"u0", given[0]}, {"d_y", given[1]}};
  for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
    const Array made = compile(spec, {.engine = engine}).call(inputs)["d_u0"];
    for (int i = 0; i < n; ++i)
      CHECK(made.data<double>()[i] == doctest::Approx(g[std::size_t(i)]).epsilon(1e-12));
  }
}

TEST_CASE("what flows back into a start that stands for many steps comes from each of them") {
  const std::string back = "let u[t < 40, i] = tanh(pad(u, 1: (1, 0))[t - 20, i]) * 0.9 from u0\n",
                    ahead = "let u[t < 23, i] = sin(u[t + 17, i]) + u[t + 1, i] / 2 from u0\n",
                    one = "let u[t < 5, i] = tanh(u[t - 18, i] + iota(i)) from sum(u0, i)\n";
  for (const std::string &loop : {back, ahead, one})
    first_and_second("in u0 : f64[i]\n" + loop + "out y[t, i < extent(u0, 0)] = u", {{"u0", {3}}},
                     {"u0"},
                     {{"d_y",
                       {loop == back    ? 40
                        : loop == ahead ? 23
                                        : 5,
                        3}}});
}

TEST_CASE("a let that a loop alone reads is a part of its step") {
  const std::string loop = "in x : f64[:]; in s : f64\n"
                           "let p[t < 2] = s + q[t + 3, 0] * 0.5 from 2\nLET"
                           "let q[t < 2, i < 2] = tanh(x[i + 0]) + READ * 0.5 from s\n"
                           "out y[i] = q[0, i]";
  const auto with = [&](const std::string &let, const std::string &read) {
    std::string text = loop;
    text.replace(text.find("LET"), 3, let).replace(text.find("READ"), 4, read);
    return text;
  };
  const std::vector<Array> arrays = arrays_of({{"x", {3}}, {"s", {}}}, 1);
  const std::vector<NamedView> inputs{{"x", arrays[0]}, {"s", arrays[1]}};
  const auto values = [&](const std::string &body) {
    const Array made = compile(parse("kernel k {\n" + body + "\n}")).call(inputs)["y"].copy();
    return std::vector<double>(made.data<double>(), made.data<double>() + made.size());
  };
  const std::string named = with("let c = p[t + 2]\n", "c"); // no position of p as an array
  CHECK(values(named) == values(with("", "p[t + 2]")));
  first_and_second(named, {{"x", {3}}, {"s", {}}}, {"x", "s"}, {{"d_y", {2}}});
}

TEST_CASE(
    "what a loop carries to an input is what it sends there, also where its sum is a factor") {
  struct Loop {
    std::string body;
    std::vector<std::int64_t> shape; // of c
  };
  const std::vector<Loop> loops{
      {"in c : f64; in s : f64[i]\nlet h[t < 3, i] = (0.5 * c) * (c * h[t - 1, i]) from s", {}},
      {"in c : f64[i]; in s : f64[i]\nlet h[t < 3, i] = sin(c) + h[t - 1, i] / 2 from s", {2}}};
  for (const Loop &loop : loops) {
    const LoopSpec spec = parse("kernel k { " + loop.body + "\nout y[t, i] = h }");
    INFO(print(spec));
    const std::vector<Array> data =
        arrays_of({{"c", loop.shape}, {"s", {2}}, {"d_y", {3, 2}}}, 0.8);
    const std::vector<NamedView> inputs{{"c", data[0]}, {"s", data[1]}, {"d_y", data[2]}};
    const Array at_once = compile(gradient(spec, {"c"})).call(inputs)["d_c"].copy(),
                carried =
                    compile(gradient(spec, {"c"}, {.carry = true})).call(inputs)["d_c"].copy();
    for (std::int64_t k = 0; k < at_once.size(); ++k)
      CHECK(carried.data<double>()[k] == doctest::Approx(at_once.data<double>()[k]).epsilon(1e-12));
  }
}

TEST_CASE("a condition that reads nothing of the loop that it ends has as many steps in what is "
          "derived") {
  const std::string body = "in x : f64; in flag : f64[:]\n"
                           "let u[t < 7 until flag[0] * iota(t) > 2] = u[t - 1] * x from 1\n"
                           "out y = u[-1]";
  first_and_second(body, {{"x", {}}, {"flag", {3}}}, {"x"}, {{"d_y", {}}});
  first_and_second("in x : f64; in n : f64[:]; in flag : f64\n"
                   "let u[t < 4 until flag > 2, i < 2] = u[t - 1, i] * x + n[0] from 1\n"
                   "out y = sum(u[-1, i] * u[-1, i], i)",
                   {{"x", {}}, {"n", {4}}, {"flag", {}}}, {"x"}, {{"d_y", {}}});
}

TEST_CASE("the gradient of a loop that multiplies its own padded steps is derived again") {
  for (const std::string step :
       {"pad(u, 1: (1, 1))[t - 1, i] * pad(u, 1: (1, 1))[t - 1, i + 2]",
        "pad(u, 1: (1, 1))[t - 1, i] * u[t - 1, i]",
        "pad(u, 1: (1, 1), wrap)[t - 1, i] * pad(u, 1: (1, 1), wrap)[t - 1, i + 2] + u0[i]"}) {
    CAPTURE(step);
    const LoopSpec spec = parse("kernel k {\nin u0 : f64[i]\nlet u[t < 4, i] = " + step +
                                " from u0\nout y = sum(u[-1, i] * u[-1, i], i)\n}");
    const LoopSpec twice = gradient(gradient(spec, {"u0"}), {"u0", "d_y"});
    const std::string text = print(twice);
    CHECK(print(parse(text)) == text);
    check_slopes(gradient(spec, {"u0"}), {{"u0", {5}}, {"d_y", {}}});
  }
}

TEST_CASE("an axis that a loop folds keeps its name there, whatever what flows back calls it") {
  const LoopSpec spec = parse("kernel k {\nin x : f64[i]\nin w : f64[t, i]\n"
                              "let s[n < 3, i] = s[n - 1, i] + sum(w * s[n - 1, i], t) from x\n"
                              "out z = s[n, i]\n}");
  const LoopSpec once = gradient(spec, {"x", "w"});
  const std::string text = print(gradient(once, {"x", "w", "d_z"}));
  CHECK(print(parse(text)) == text);
  check_slopes(once, {{"x", {3}}, {"w", {4, 3}}, {"d_z", {3, 3}}});
}

TEST_CASE("each of many accumulators that a second gradient makes stays the one that it is") {
  const std::string two = "accumulator two(a, b; x, y) {\ninit a = 0.5, b = 1\n"
                          "step a = a + x * b, b = 0.7 * b + sin(y * a)\nresult a * b\n}\n"
                          "def sq(v) = v * v\n  derivative v = 2 * v * g\n";
  const LoopSpec loop = parse(two + "kernel k {\nin x : f64[t, i]\nin w : f64[t, i]\n"
                                    "let s[t, i] = tanh(0.2 * two((s[t - 1, j], w[t, i]), j) + "
                                    "sq(x)) from two((x, w), t)\nout y[i] = s[-1, i]\n}");
  check_slopes(gradient(loop, {"x", "w"}), {{"x", {4, 3}}, {"w", {4, 3}}, {"d_y", {3}}});
  const LoopSpec rows = parse(two + "kernel k {\nin x : f64[t, i]\nin w : f64[t, i]\n"
                                    "out y = two((x, w), t, i)\n}");
  const std::string text = print(gradient(gradient(rows, {"x", "w"}), {"x", "w", "d_y"}));
  CHECK(print(parse(text)) == text);
}
