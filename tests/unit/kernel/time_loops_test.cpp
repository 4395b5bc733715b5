// Lets that read themselves at earlier positions of an axis. Each engine must have the bits of the
// reference, which goes step by step.
#include "all_engines.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace broadloom;
using tests::code_of;
using tests::results;
using tests::values;

namespace {

using D = std::vector<double>;
using I = std::vector<std::int64_t>;

// Sums are added up in another order by the reference: the others have the same bits.
Results run_sums(const std::string &body, const std::vector<NamedView> &inputs) {
  const LoopSpec spec = parse("kernel k {\n" + body + "\n}");
  const Results one = compile(spec, tests::with(Engine::interpreter)).call(inputs);
  for (const int threads : {1, 2}) {
    const Results other = compile(spec, tests::with(Engine::jit, threads)).call(inputs);
    for (const auto &[output, array] : one)
      CHECK(tests::bytes(other[output]) == tests::bytes(array));
  }
  const Results truth = compile(spec, tests::with(Engine::reference)).call(inputs);
  for (const auto &[output, array] : truth) {
    const D wanted = values(array), got = values(one[output]);
    REQUIRE(wanted.size() == got.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) CHECK(got[k] == doctest::Approx(wanted[k]));
  }
  return one;
}

I integers(const Array &array) {
  const Array dense = array.copy();
  return {dense.data<std::int64_t>(), dense.data<std::int64_t>() + dense.size()};
}

D counting(std::size_t count, double first = 1) {
  D made(count);
  for (std::size_t k = 0; k < count; ++k) made[k] = first + double(k) * 0.25;
  return made;
}

View<const double> view(const D &values, std::initializer_list<std::int64_t> shape) {
  return {values.data(), shape};
}

const std::string rnn = R"(
in  x  : f64[t, n, c]
in  w  : f64[c, i]
in  v  : f64[k, i]
in  h0 : f64[n, k]
let h[t, n, i] = tanh(sum(x * w, c) + sum(h[t - 1, n, k] * v, k)) from h0
)";

} // namespace

TEST_CASE("a recurrent network is what a loop over its steps gives") {
  const std::size_t T = 5, N = 2, C = 3, K = 4;
  const D x = counting(T * N * C, -2), w = counting(C * K, -1), v = counting(K * K, -2),
          h0 = counting(N * K, -0.5);
  const Results r = run_sums(rnn + "out y[t, n, i] = h\nout last[n, i] = h[-1, n, i]",
                             {{"x", view(x, {5, 2, 3})},
                              {"w", view(w, {3, 4})},
                              {"v", view(v, {4, 4})},
                              {"h0", view(h0, {2, 4})}});
  D h = h0;
  const D y = values(r["y"]), last = values(r["last"]);
  for (std::size_t t = 0; t < T; ++t) {
    D next(N * K);
    for (std::size_t n = 0; n < N; ++n)
      for (std::size_t i = 0; i < K; ++i) {
        double a = 0, b = 0;
        for (std::size_t c = 0; c < C; ++c) a += x[(t * N + n) * C + c] * w[c * K + i];
        for (std::size_t k = 0; k < K; ++k) b += h[n * K + k] * v[k * K + i];
        next[n * K + i] = std::tanh(a + b);
      }
    h = next;
    for (std::size_t p = 0; p < N * K; ++p) CHECK(y[t * N * K + p] == doctest::Approx(h[p]));
  }
  for (std::size_t p = 0; p < N * K; ++p) CHECK(last[p] == doctest::Approx(h[p]));
}

TEST_CASE("two earlier steps make Fibonacci's numbers, which begin with the start repeated") {
  const Results r = results("let f[t < 12] = f[t - 1] + f[t - 2] from 1\nout y[t] = f", {});
  CHECK(integers(r["y"]) == I{2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377});
}

TEST_CASE("without a start the steps before the first are zeros") {
  const D x{1, 2, 4, 8};
  CHECK(values(results("in x : f64[t]; let s[t] = x + s[t - 1]; out y[t] = s",
                       {{"x", view(x, {4})}})["y"]) == D{1, 3, 7, 15});
  CHECK(values(results("in x : f64[t]; let s[t] = x + s[t - 3]; out y[t] = s",
                       {{"x", view(x, {4})}})["y"]) == D{1, 2, 4, 9});
}

TEST_CASE("reads of later positions go from the end") {
  const D x{1, 2, 4, 8};
  CHECK(values(results("in x : f64[t]; let s[t] = x + s[t + 1] / 2 from 16; out y[t] = s",
                       {{"x", view(x, {4})}})["y"]) == D{5, 8, 12, 16});
  CHECK(values(results("in x : f64[t]; let s[t] = x + s[t + 2]; out y[t] = s",
                       {{"x", view(x, {4})}})["y"]) == D{5, 10, 4, 8});
}

TEST_CASE("the heat equation goes on for a number of steps, with borders that follow") {
  const D u0{0, 0, 1, 0, 0, 0};
  const std::string step = "(pad(u, 1: (1, 1), MODE)[t - 1, i] + 2 * u[t - 1, i] + "
                           "pad(u, 1: (1, 1), MODE)[t - 1, i + 2]) / 4";
  for (const std::string mode : {"edge", "wrap", "reflect", "zero", "3"}) {
    CAPTURE(mode);
    std::string value = step;
    for (std::size_t at; (at = value.find("MODE")) != value.npos;) value.replace(at, 4, mode);
    const D y =
        values(results("in u0 : f64[i]; let u[t < 4, i] = " + value + " from u0; out y[t, i] = u",
                       {{"u0", view(u0, {6})}})["y"]);
    D u = u0;
    for (int t = 0; t < 4; ++t) {
      D next(6);
      for (int i = 0; i < 6; ++i) {
        const auto at = [&](int p) {
          if (p >= 0 && p < 6) return u[std::size_t(p)];
          if (mode == "edge") return u[p < 0 ? 0 : 5];
          if (mode == "wrap") return u[p < 0 ? 5 : 0];
          if (mode == "reflect") return u[p < 0 ? 1 : 4];
          return mode == "3" ? 3.0 : 0.0;
        };
        next[std::size_t(i)] = (at(i - 1) + 2 * at(i) + at(i + 1)) / 4;
      }
      u = next;
      for (int i = 0; i < 6; ++i) CHECK(y[std::size_t(t * 6 + i)] == u[std::size_t(i)]);
    }
  }
}

// A copy with borders of a few rows lies as one of all rows does, also where a dim of 1 would lie
// around the steps.
TEST_CASE("borders of a dim of 1 are read where only the last rows are kept") {
  const D x = counting(5);
  for (const std::string mode : {"edge", "wrap", "7"})
    for (const std::string at : {"i", "i + 1", "i + 2"}) {
      CAPTURE(mode + " " + at);
      D sums{1};
      for (const double one : x)
        sums.push_back(one + (mode == "7" && at != "i + 1" ? 7 : sums.back()));
      const std::string loop = "in x : f64[i, t]; let a[i, t] = x + pad(a, 0: (1, 1), " + mode +
                               ")[" + at + ", t - 1] from 1; ";
      const auto run = [&](const std::string &output, std::int64_t width) {
        D all;
        for (std::int64_t k = 0; k < width; ++k) all.insert(all.end(), x.begin(), x.end());
        return values(results(loop + output, {{"x", view(all, {width, 5})}})["y"]);
      };
      CHECK(run("out y[i] = a[i, -1]", 1) == D{sums.back()});
      CHECK(run("out y[t] = a[0, t]", 1) == D(sums.begin() + 1, sums.end()));
    }
}

TEST_CASE("lets that read each other go step by step together") {
  const D x = counting(8, -1), v{0.5, -0.25, 0.125, 1};
  const Results r = run_sums("in x : f64[t, i]\n"
                             "in v : f64[k, i]\n"
                             "let c[t, i] = c[t - 1, i] / 2 + x + sum(h[t - 1, k] * v, k)\n"
                             "let h[t, i] = tanh(c)\n"
                             "out y[t, i] = h\n"
                             "out z[t, i] = c",
                             {{"x", view(x, {4, 2})}, {"v", view(v, {2, 2})}});
  D c{0, 0}, h{0, 0};
  const D y = values(r["y"]), z = values(r["z"]);
  for (std::size_t t = 0; t < 4; ++t) {
    D next(2);
    for (std::size_t i = 0; i < 2; ++i)
      next[i] = c[i] / 2 + x[t * 2 + i] + (h[0] * v[i] + h[1] * v[2 + i]);
    c = next;
    for (std::size_t i = 0; i < 2; ++i) {
      h[i] = std::tanh(c[i]);
      CHECK(z[t * 2 + i] == doctest::Approx(c[i]));
      CHECK(y[t * 2 + i] == doctest::Approx(h[i]));
    }
  }
}

TEST_CASE("the axis of steps may be any dim, and inputs may be read at windows along it") {
  const D x = counting(12);
  const D y = values(results("in x : f64[i, t]\n"
                             "let s[i, q] = s[i, q - 1] + x[i, 2*q + 1] - x[i, 2*q]\n"
                             "out y[i, q] = s",
                             {{"x", view(x, {2, 6})}})["y"]);
  CHECK(y == D{0.25, 0.5, 0.75, 0.25, 0.5, 0.75});
}

TEST_CASE("the number of a step and how many there are can be asked for") {
  const Results r = results("let s[t < 4] = s[t - 1] + iota(t) * extent(t)\nout y[t] = s", {});
  CHECK(integers(r["y"]) == I{0, 4, 12, 24});
}

TEST_CASE(
    "a start is matched by the names of its dims, else by their order, or is one value for all") {
  const D a{1, 2, 3, 4, 5, 6};
  const auto body = [](const std::string &declared, const std::string &start) {
    return "in a : f64[" + declared + "]; let s[t < 1, n, i] = s[t - 1, n, i] + 0 from " + start +
           "; out y[n, i] = s[0, n, i]";
  };
  CHECK(values(results(body("n, i", "a"), {{"a", view(a, {2, 3})}})["y"]) == a);
  CHECK(values(results(body("i, n", "a"), {{"a", view(a, {2, 3})}})["y"]) == D{1, 4, 2, 5, 3, 6});
  CHECK(values(results(body("p, q", "a"), {{"a", view(a, {2, 3})}})["y"]) == a);
  CHECK(
      values(results("in a : f64[i]; in b : f64; let s[t < 2, i] = s[t - 1, i] + a from b * 2; out "
                     "y[t, i] = s",
                     {{"a", view(a, {2})}, {"b", view(a, {})}})["y"]) == D{3, 4, 4, 6});
}

TEST_CASE("loops of integers, of bools and of halves keep their dtype") {
  const std::vector<std::int32_t> x{5, -3, 7};
  const Results r = results("in x : i32[t]; let s[t] = maximum(x, s[t - 1]) from -10; out y[t] = s",
                            {{"x", View<const std::int32_t>(x.data(), {3})}});
  CHECK(r["y"].dtype() == DType::I32);
  const Results f = results("in x : i32[t]; let s[t] = f16(x) + s[t - 1] / 2; out y[t] = s",
                            {{"x", View<const std::int32_t>(x.data(), {3})}});
  CHECK(f["y"].dtype() == DType::F16);
  const Results b = results("in x : i32[t]; let s[t] = x > 6 || s[t - 1]; out y[t] = s",
                            {{"x", View<const std::int32_t>(x.data(), {3})}});
  CHECK(b["y"].dtype() == DType::Bool);
}

TEST_CASE("no steps are no elements, and no error") {
  const D x;
  const Results r =
      results("in x : f64[t]; let s[t] = x + s[t - 1] from 2; out y[t] = s; out z = sum(s, t)",
              {{"x", view(x, {0})}});
  CHECK(r["y"].size() == 0);
  CHECK(values(r["z"]) == D{0});
}

TEST_CASE("a bound call runs all steps again on what its inputs hold then") {
  const LoopSpec spec = parse("kernel k { in x : f64[t]; in a : f64[i]\n"
                              "let s[t, i] = pad(s, 1: (1, 0), edge)[t - 1, i] + x * a from a\n"
                              "out y[t, i] = s }");
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    D x{1, 2, 3}, a{1, 10};
    Array y(DType::F64, {3, 2});
    const BoundCall call =
        compile(spec, tests::with(engine)).bind({view(x, {3}), view(a, {2})}, {AnyView(y)});
    call();
    CHECK(values(y) == D{2, 11, 4, 22, 7, 34});
    x = {0, 0, 1};
    a = {2, 4};
    call();
    CHECK(values(y) == D{2, 2, 2, 2, 4, 6});
  }
}

TEST_CASE("what no wanted output needs is not computed, and what is needed is computed once") {
  const LoopSpec spec =
      parse("kernel k { in x : f64[t]; let s[t] = x + s[t - 1]; out y[t] = s; out z[t] = x }");
  const D x{1, 2, 3};
  Array z(DType::F64, {3});
  const Kernel kernel = compile(spec, tests::with(Engine::jit));
  kernel.run_named(std::vector<NamedView>{{"x", view(x, {3})}}, std::vector<NamedView>{{"z", z}});
  CHECK(values(z) == x);
}

TEST_CASE("loops are built in C++ as they are read from text") {
  const auto t = axis("t");
  const auto x = input("x", f64, {"t", "i"});
  const auto h0 = input("h0", f64, {"i"});
  const auto h = let("h", {"t", "i"}, tanh(x + itself("h").at({t - 1, "i"})), {.from = h0});
  const LoopSpec made = LoopSpec("k").out("y", h);
  CHECK(print(made) == "kernel k {\n  in  x : f64[t, i]\n  in  h0 : f64[i]\n"
                       "  let h[t, i] = tanh(x + h[t - 1, i]) from h0\n  out y = h\n}\n");
  CHECK(print(parse(print(made))) == print(made));
  const auto f = let("f", {"t"}, itself("f").at({t - 1}) + itself("f").at({t - 2}),
                     {.from = 1, .axis = "t", .count = 5});
  CHECK(integers(compile(LoopSpec("k").out("y", f)).call({})["y"]) == I{2, 3, 5, 8, 13});
  CHECK_THROWS_AS(let("f", {"t"}, itself("f").at({t - 1}), {.axis = "t", .count = 0}), SpecError);
  CHECK_THROWS_AS(let("f", {"t"}, itself("f").at({t - 1}), {.axis = "s", .count = 3}), SpecError);
  CHECK_THROWS_AS(check(LoopSpec("k").out("y", itself("g").at({t - 1}) + x)), SpecError);
  CHECK_THROWS_AS(check(LoopSpec("k").out("y", let("g", {"t", "i"}, x + itself("g")))), SpecError);
}

TEST_CASE("mistakes about loops are told with their codes") {
  const std::string in = "in x : f64[t, i]; in y : f64[i]; ";
  CHECK(code_of(in + "let h[t, i] = x + h[t, i]; out z = h") == "E0028");
  CHECK(code_of(in + "let h[t, i] = x + h; out z = h") == "E0028");
  CHECK(code_of(in + "let h = x + h[t - 1, i]; out z = h") == "E0028");
  CHECK(code_of(in + "let h[t, i] = x + h[t - 1, i] + h[t + 1, i]; out z = h") == "E0028");
  CHECK(code_of(in + "let h[t, i] = x + h[2*t, i]; out z = h") == "E0028");
  CHECK(code_of(in + "let h[t, i] = x + h[t - 1 + i, i]; out z = h") == "E0028");
  CHECK(code_of(in + "let h[t, i] = x + h[t - 1, i - 1]; out z = h") == "E0028");
  CHECK(code_of(in + "let h[t, i] = x + h[t - 1]; out z = h") == "E0140");
  CHECK(code_of(in + "in k : i64[i]; let h[t, i] = x + h[t - 1, k[i]]; out z = h") == "E0028");
  CHECK(code_of(in + "let a[t, i] = x + b[t, i]; let b[t, i] = a[t, i] + x; out z = a") == "E0028");
  CHECK(code_of(in + "let h[t, i] = x from y; out z = h") == "E0030");
  CHECK(code_of(in + "let h = x from y; out z = h") == "E0030");
  CHECK(code_of(in + "let h[t, i] = x + h[t - 1, i] from x; out z = h") == "E0030");
  CHECK(code_of(in + "let h[t, i] = x + h[t - 1, i] from f32(y); out z = h") == "E0030");
  CHECK(code_of(in + "let h[t, i] = x + h[t - 1, i] from h[0, i]; out z = h") == "E0030");
  CHECK(code_of(in + "let h[s, i] = y + h[s - 1, i]; out z = h") == "E0031");
  CHECK(code_of(in + "let h[s < 4, j] = h[s - 1, j] / 2; out z = h") == "E0031");
  CHECK(code_of(in + "let h[t < 0, i] = x + h[t - 1, i]; out z = h") == "E0031");
  CHECK(code_of(in + "let h[t < -3, i] = x + h[t - 1, i]; out z = h") == "E0033");
  CHECK(code_of(in + "let h[t < extent(x, 0), i] = x + h[t - 1, i]; out z = h") == "E0031");
  CHECK(code_of(in + "let h[t < 99999999999999999999, i] = x + h[t - 1, i]; out z = h") == "E0006");
  CHECK(code_of(in + "let h[t < extent(x, 0), i < 4] = x + h[t - 1, i]; out z = h") == "E0031");
  CHECK(code_of(in + "let h[t, i] = x + h[t - 1, i] + sum(x, t); out z = h") == "E0032");
  CHECK(code_of(in + "let h[t, i] = x + sum(h[t - 1, i], t); out z[i] = h[0, i]") != "none");
}

TEST_CASE("extents that disagree are told at a call") {
  const D x{1, 2, 3}, a{1, 2};
  const auto code = [](const std::string &body, const std::vector<NamedView> &inputs) {
    return tests::code_of(body, inputs);
  };
  CHECK(code("in x : f64[t]; let s[t < 4] = x + s[t - 1]; out y[t] = s", {{"x", view(x, {3})}}) ==
        "E0102");
  CHECK(
      code("in x : f64[t, p]; in a : f64[j]; let s[t, p] = x + s[t - 1, p] from a; out y[t, p] = s",
           {{"x", view(x, {1, 3})}, {"a", view(a, {2})}}) == "E0142");
}

TEST_CASE("why says that a let goes step by step") {
  bool found = false;
  for (const Decision &decision :
       compile(parse("kernel k { in x : f64[t]; let s[t] = x + s[t - 1]; out y[t] = s }")).why())
    found = found || decision.code == "let-goes-by-step";
  CHECK(found);
}

TEST_CASE("a step may sum through a window of what is computed before it in the step") {
  // The transpose of h[t, i + k] * w[k], step after step: d lies 1 to the right of what it is read
  // by.
  const D z = counting(12), w = counting(2);
  const Results one = run_sums("in z : f64[:, :]; in w : f64[k]\n"
                               "let d[t, i] = z[t, i + 1] + s[t + 1, i + 0]\n"
                               "let s[t, p] = sum(d[t, i] * w, like=z[t, i + k])\n"
                               "out y[t, p] = s[t, p]",
                               {{"z", view(z, {3, 4})}, {"w", view(w, {2})}});
  D later(4), wanted(12);
  for (int t = 2; t >= 0; --t) {
    D s(4);
    for (std::size_t i = 0; i < 3; ++i) {
      const double d = z[std::size_t(t) * 4 + i + 1] + later[i];
      for (std::size_t k = 0; k < 2; ++k) s[i + k] += d * w[k];
    }
    for (std::size_t p = 0; p < 4; ++p) wanted[std::size_t(t) * 4 + p] = s[p];
    later = s;
  }
  const D got = values(one["y"]);
  for (std::size_t k = 0; k < 12; ++k) CHECK(got[k] == doctest::Approx(wanted[k]));
}

TEST_CASE("a let that is a sum like a window names the dims itself") {
  const D z = counting(12), w = counting(2);
  run_sums("in z : f64[:, :]; in w : f64[k]\n"
           "let s[a, b] = sum(z[t, i] * w, like=z[t, i + k])\n"
           "out y[a, b] = s * s[a, b]",
           {{"z", view(z, {3, 4})}, {"w", view(w, {2})}});
  CHECK(code_of("in z : f64[:, :]; in w : f64[k]\n"
                "let s[a] = sum(z[t, i] * w, like=z[t, i + k]); out y = s") == "E0106");
}

TEST_CASE("a loop says how long its other axes are") {
  const Results r =
      results("let z[t < 3, i < 4] = z[t - 1, i] + iota(i) from 1\nout y[t, i] = z", {});
  CHECK(integers(r["y"]) == I{1, 2, 3, 4, 1, 3, 5, 7, 1, 4, 7, 10});
  const D x{1, 2, 4};
  CHECK(
      values(results(
          "in x : f64[:]\nlet z[i < 2 * extent(x, 0) - 1, t < 2] = z[i, t - 1] / 2 + x[0] from 4\n"
          "out y[i] = z[i, -1]",
          {{"x", view(x, {3})}})["y"]) == D(5, 2.5));
  CHECK(values(results(
            "in x : f64[:]\nlet h[i < extent(x, 0) - 1] = x[i + 1]\n"
            "let z[t < 2, i < extent(h, 0)] = z[t - 1, i] / 2 + h from 4\nout y[i] = z[-1, i]",
            {{"x", view(x, {3})}})["y"]) == D{4, 7});
  CHECK(code_of("in x : f64[i]\nlet z[t < 3, i < 4] = z[t - 1, i] + x\nout y[t, i] = z",
                {{"x", view(x, {3})}}) == "E0102");
}

TEST_CASE("a gradient goes through a loop that says how long its other axes are") {
  const double a = 0.5, one = 1;
  const LoopSpec spec =
      parse("kernel k { in a : f64; let z[t < 4, i < 3] = z[t - 1, i] * a + iota(i) from 1; "
            "out y = sum(z[-1, i]^2, i) }");
  const std::vector<NamedView> in{{"a", View<const double>(&a, {})}};
  for (const SlopeCheck &slope : check_gradient(spec, in).slopes)
    CHECK(slope.slope == Slope::agrees);
  for (const bool carry : {false, true})
    tests::in_all_engines(
        gradient(spec, {"a"}, {.carry = carry}),
        {{"a", View<const double>(&a, {})}, {"d_y", View<const double>(&one, {})}});
}
