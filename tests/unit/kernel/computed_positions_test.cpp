// Positions that a kernel computes itself: a let holds them, and what reads or adds at them comes
// after it. Each engine must have the bits of the reference.
#include "all_engines.hpp"

#include <cmath>
#include <cstring>
#include <vector>

using namespace broadloom;
using tests::code_of;
using tests::code_thrown_by;
using tests::in_all_engines;
using tests::results;
using tests::values;
using tests::with;

namespace {

using D = std::vector<double>;
using Ints = std::vector<std::int64_t>;

Array array(const D &numbers) {
  Array made(f64, {std::int64_t(numbers.size())});
  std::memcpy(made.raw(), numbers.data(), numbers.size() * sizeof(double));
  return made;
}
Array index_of(const std::vector<std::int32_t> &numbers) {
  Array made(i32, {std::int64_t(numbers.size())});
  std::memcpy(made.raw(), numbers.data(), numbers.size() * sizeof(std::int32_t));
  return made;
}

Array scalar(std::int32_t number) {
  Array made(i32, {});
  *made.data<std::int32_t>() = number;
  return made;
}

const Array x10 = array({0, 10, 20, 30, 40, 50, 60, 70, 80, 90}), k4 = index_of({2, 0, 8, 2}),
            v4 = array({0.31, -0.2, 0.95, 4}), e4 = array({1, 2, 3, 4});

const std::vector<NamedView> xk{{"x", x10}, {"k", k4}}, xv{{"x", x10}, {"v", v4}},
    xke{{"x", x10}, {"k", k4}, {"e", e4}};

// The first output; the text of the kernel reads back as itself.
D value(const std::string &body, const std::vector<NamedView> &inputs) {
  return values(results(body, inputs).begin()->second);
}
const std::string x = "in x : f64[:]\n", k = "in k : i32[:]\n", e = "in e : f64[i]\n";

} // namespace

TEST_CASE("a gather takes its positions from a let, with dims or without") {
  CHECK(value(x + k + "let q[i] = k[i] + 1\nout y[i] = x[q[i]]", xk) == D{30, 10, 90, 30});
  CHECK(value(x + "in k : i32[i]\nlet q = k % 7\nout y = x[q[i]]", xk) == D{20, 0, 10, 20});
  CHECK(value(x + k + "let q = k[i] + 1\nout y = x[2*q[i] - 2] + 1",
              {{"x", x10}, {"k", index_of({2, 0})}}) == D{41, 1});
  CHECK(value(x + k + "let q = k[i] - 1\nout y = x[clip(q[i])] + x[wrap(q[i])]", xk) ==
        D{20, 90, 140, 20});
  CHECK(value(x + "in s : i32\nlet q = s + 1\nout y = x[q[]]", {{"x", x10}, {"s", scalar(4)}}) ==
        D{50});
  CHECK(value(x + "in k : i32[i]\nin m : i32[j]\nlet q[j, i] = k + m\nout y[j, i] = x[q[j, i]]",
              {{"x", x10}, {"k", k4}, {"m", index_of({0, 1})}}) ==
        D{20, 0, 80, 20, 30, 10, 90, 30});
}

TEST_CASE("any value of integers says positions where it stands") {
  CHECK(value(x + k + "out y = x[(k[i] + 1) % 7]", xk) == D{30, 10, 20, 30});
  CHECK(value(x + "in v : f64[:]\nout y = x[clip(i32(v[i] * 10), 0, 9)]", xv) == D{30, 0, 90, 90});
  CHECK(value(x + k + "out y = x[k[i] // 2 + i]", xk) == D{10, 10, 60, 40});
  CHECK(value(x + k + "out y = x[k[i] & 1 | 2]", xk) == D{20, 20, 20, 20});
  CHECK(value(x + k + "out y = x[k[i] > 1 ? 3 : 4]", xk) == D{30, 40, 30, 30});
  CHECK(value(x + k + "out y = x[(k[i] * i) % 5]", xk) == D{0, 0, 10, 10});
  CHECK(value(x + "in k : i32[i]\nout y = x[k * k // 8]", xk) == D{0, 0, 80, 0});
  CHECK(value(x + k + "out y = x[clip(k[i] * k[i])]", xk) == D{40, 0, 90, 40});
  CHECK(value(x + "in k : i32[i]\nout y = x[max(k, i) - 1]", xk) == D{70});
  CHECK(value(x + k + "out y = x[k[k[i] % 4] % 10]", xk) == D{80, 20, 20, 80});
  // What is a form stays one.
  CHECK(print(parse("kernel k { in x : f64[:]; in k : i32[:]; out y = x[2*(k[i] - 1) + i] }")) ==
        "kernel k {\n  in  x : f64[:]\n  in  k : i32[:]\n  out y = x[2*k[i] + i - 2]\n}\n");
  CHECK(print(parse("kernel k { in x : f64[:]; in k : i32[:]; out y = x[(k[i] + 1) % 7 + 1] }")) ==
        "kernel k {\n  in  x : f64[:]\n  in  k : i32[:]\n  let x_at[i] = (k[i] + 1) % 7\n"
        "  out y = x[x_at[i] + 1]\n}\n");
  CHECK(value("in x_at : i32[:]\n" + x + "out y = x[x_at[i] % 3] + x[x_at[i] % 2]",
              {{"x", x10}, {"x_at", k4}}) == D{20, 0, 20, 20});
}

TEST_CASE("values are added at positions that are computed") {
  CHECK(value("in bins : f64[:]\n" + k + "let q = k[i] % 3\nout h : f64 = sum(1, like=bins[q[i]])",
              {{"bins", array(D(3))}, {"k", k4}}) == D{1, 0, 3});
  CHECK(value("in bins : f64[:]\nin v : f64[:]\nin e : f64[i]\n"
              "out h = sum(e, like=bins[clip(i32(v[i] * 10), 0, 9)])",
              {{"bins", x10}, {"v", v4}, {"e", e4}}) == D{2, 0, 0, 1, 0, 0, 0, 0, 0, 7});
  // A mask as a key, and a table.
  CHECK(value("in bins : f64[:]\nin e : f64[i]\nout s = sum(e, like=bins[i64(e > 2)])",
              {{"bins", array(D(2))}, {"e", e4}}) == D{3, 7});
  CHECK(value(x + k + e + "let q = x[k[i]] / 10\nlet r = i64(q)\nout s = sum(e, like=x[r[i]])",
              xke) == D{2, 0, 5, 0, 0, 0, 0, 0, 3, 0});
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    Array s = array({100, 200, 300});
    const LoopSpec spec = parse("kernel k { in k : i32[i]; in e : f64[i]; let q = k % 3\n"
                                "out s[q[i]] += e }");
    CHECK(print(parse(print(spec))) == print(spec));
    compile(spec, with(engine)).run({{"k", k4}, {"e", e4}}, {{"s", s}});
    CHECK(values(s) == D{102, 200, 308});
    const LoopSpec direct = parse("kernel k { in v : f64[i]; in e : f64[i]\n"
                                  "out s[clip(i32(v), 0, 2)] += e }");
    CHECK(print(parse(print(direct))) == print(direct));
    compile(direct, with(engine)).run({{"v", v4}, {"e", e4}}, {{"s", s}});
    CHECK(values(s) == D{108, 200, 312});
  }
}

TEST_CASE("positions come of lets that are loops, gathers and sums, and of each other") {
  // A walk of i -> (5 i + 3) % 10, and a loop over what is read along it.
  const D walked =
      value(x + "let q[t < 6] = (5 * q[t - 1] + 3) % 10 from 1\nout y[t] = x[q[t]]", {{"x", x10}});
  CHECK(walked == D{80, 30, 80, 30, 80, 30});
  CHECK(value(x + "let q[t < 6] = (5 * q[t - 1] + 3) % 10 from 1\nlet s[t] = s[t - 1] + "
                  "x[q[t]]\nout y[t] = s",
              {{"x", x10}}) == D{80, 110, 190, 220, 300, 330});
  CHECK(value(x + "let q[t < 6] = (5 * q[t - 1] + 3) % 10 from 1\n"
                  "let s[t] = s[t - 1] + x[q[t]] + q\nout y[t] = s",
              {{"x", x10}}) == D{88, 121, 209, 242, 330, 363});
  CHECK(value(x + k + "let q = k[i] % 4\nlet r = k[q[i]] % 5\nlet h = x[p] + 1\nout y = h[r[i]]",
              xk) == D{31, 21, 21, 31});
  CHECK(value(x + k + "let q = k[i] % 4\nout y = x[k[q[i]]]", xk) == D{80, 20, 20, 80});
  CHECK(value(x + k + e + "let q = i64(sum(e, like=x[k[i]]))\nout y = x[q[p]]", xke) ==
        D{20, 0, 50, 0, 0, 0, 0, 0, 30, 0});
  CHECK(value(x + k + "let q = k[i] + 1\nout y = pad(x, 0: (1, 1), edge)[q[i]]", xk) ==
        D{20, 0, 80, 20});
  CHECK(value(x + "in k : i32[:]\nlet q = k[i]\nout y = x[pad(q, 0: (1, 1), edge)[i]]", xk) ==
        D{20, 20, 0, 80, 20, 20});
  // A join of positions.
  CHECK(value(x + k + "let q[r] = concat(r, k[r] + 1, k[r])\nout y = x[q[r]]", xk) ==
        D{30, 10, 90, 30, 20, 0, 80, 20});
}

TEST_CASE("a loop that says positions keeps all of its steps, though others read its last alone") {
  double read = 0, direct = 0;
  std::int64_t q = 1;
  for (int t = 0; t < 400; ++t) {
    q = (5 * q + 3) % 10;
    read = 0.5 * read + 10. * double(q) + double(q);
    direct = 0.5 * direct + 10. * double((q + 1) % 10);
  }
  const std::string walk = "let q[t < 400] = (5 * q[t - 1] + 3) % 10 from 1\n";
  CHECK(value(x + walk + "let s[t] = 0.5 * s[t - 1] + x[q[t]] + q[t]\nout y = s[-1] + q[-1]",
              {{"x", x10}}) == D{read + double(q)});
  CHECK(value(x + "in m : i32[:]\n" + walk +
                  "let s[t] = 0.5 * s[t - 1] + x[m[q[t]]]\nout y = s[-1] + 0 * q[-1]",
              {{"x", x10}, {"m", index_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 0})}}) == D{direct});
}

TEST_CASE("a position outside names the let, and nothing is written") {
  const std::string body = x + k + "let q = k[i] + 2\nout y = x[q[i]]\nout z = x[p] + 1";
  CHECK(code_of(body, xk) == "E0315");
  for (const Engine engine : {Engine::interpreter, Engine::jit}) {
    const Kernel kernel = compile(parse("kernel k {" + body + "}"), with(engine));
    Array y = array(D(4, 7)), z = array(D(10, 7));
    std::string said;
    try {
      kernel.run({x10, k4}, {y, z});
    } catch (const DataError &error) {
      said = error.message();
    }
    CHECK(said == "x[q[i]] reads position 10 of axis 0 of 'x', which has 10 elements: q[2] is 10");
    CHECK(values(y) == D(4, 7));
    CHECK(values(z) == D(10, 7));
    // Those for an output that is not wanted are looked at, too.
    CHECK(code_thrown_by([&] { kernel.run({{"x", x10}, {"k", k4}}, {{"z", z}}); }) == "E0315");
    CHECK(values(z) == D(10, 7));
  }
}

TEST_CASE("a call that leaves out what reads at computed positions computes the others") {
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    const Kernel kernel = compile(
        parse("kernel k {" + x + k + "let q = k[i] + 1\nout y = x[q[i]]\nout z = x[p] + 1}"),
        with(engine));
    Array y(f64, {4}), z(f64, {10});
    kernel.run({{"x", x10}, {"k", k4}}, {{"z", z}});
    CHECK(z.at(9) == 91);
    kernel.run({{"x", x10}, {"k", k4}}, {{"y", y}});
    CHECK(values(y) == D{30, 10, 90, 30});
  }
}

TEST_CASE("a bound call computes its positions anew and looks at them each time") {
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit})
    for (const std::string body :
         {"let q = k[i] + 1\nout y = x[q[i]]", "let q = k[i] + 1\nout y = 1 * x[q[i]]",
          "let q = k[i] % 100\nlet r = m[q[i]] + 1\nout y = x[r[i]]"}) {
      INFO(body);
      const Kernel kernel =
          compile(parse("kernel k {" + x + k + "in m : i32[:]\n" + body + "}"), with(engine));
      Array y = array(D(4, 7)), k = index_of({2, 0, 8, 2});
      const Array m = index_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
      const BoundCall bound = kernel.bind(std::vector<AnyView>{x10, k, m}, std::vector<AnyView>{y});
      CHECK(values(y) == D(4, 7));
      bound();
      CHECK(values(y) == D{30, 10, 90, 30});
      k.data<std::int32_t>()[1] = 9;
      CHECK(code_thrown_by([&] { bound(); }) == "E0315");
      CHECK(values(y) == D{30, 10, 90, 30});
      k.data<std::int32_t>()[1] = 4;
      bound();
      CHECK(values(y) == D{30, 50, 90, 30});
    }
}

TEST_CASE("positions that are no integers, or wait for each other, are told") {
  CHECK(code_of(x + "in v : f64[:]\nlet q = v[i] * 2\nout y = x[q[i]]") == "E0206");
  CHECK(code_of(x + "in v : f64[:]\nout y = x[v[i] / 2]") == "E0206");
  CHECK(code_of(x + "in v : f64[:]\nout y = x[v[i] > 2]") == "E0206");
  CHECK(code_thrown_by([] {
          parse("kernel k {" + x + "let q[t < 3] = i64(x[q[t - 1]])\nout y[t] = q }");
        }) == "E0026");
  CHECK(code_of(x + "let q[t < 3] = i64(s[t - 1])\nlet s[t] = s[t - 1] + x[q[t]]\nout y[t] = s") ==
        "E0032");
  CHECK(code_of(x + "let s[t < 3] = s[t - 1] + x[i64(s[t - 1]) % 4]\nout y[t] = s") == "E0032");
  CHECK(code_thrown_by([] { parse("kernel k {" + x + k + "out y = x[(k + 1) % 3] }"); }) ==
        "E0026");
  CHECK(code_thrown_by([] { parse("kernel k {" + x + "out y = x[i % 3] }"); }) == "E0022");
  CHECK(code_thrown_by([] { parse("kernel k {" + x + "out y = x[exp(i)] }"); }) == "E0022");
  CHECK(code_thrown_by([] { parse("kernel k {" + x + "let q = 1\nout y = x[r[i]] }"); }) ==
        "E0026");
  std::string deep = "k[i]";
  for (int n = 0; n < 40; ++n) deep = "m[" + deep + " % 3]";
  CHECK(code_thrown_by([&] {
          parse("kernel k {" + x + k + "in m : i32[:]\nout y = x[" + deep + " % 3] }");
        }) == "E0013");
}

TEST_CASE("an output may lie on what its positions are computed from") {
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::jit}) {
    Array both(i64, {4});
    for (std::int64_t n = 0; n < 4; ++n) both.data<std::int64_t>()[n] = 3 - n;
    compile(parse("kernel k { in x : i64[:]; in k : i64[:]; let q = (k[i] + 1) % 4\n"
                  "out y = x[q[i]] + k[i] }"),
            with(engine))
        .run({{"x", both}, {"k", both}}, {{"y", both}});
    CHECK(Ints(both.data<std::int64_t>(), both.data<std::int64_t>() + 4) == Ints{6, 2, 2, 2});
  }
}

TEST_CASE("the API takes positions from lets and from values") {
  const Expr x = input("x", f64, {":"}), k = input("k", i32, {"i"});
  const auto spec = [&](const Position &at) {
    return LoopSpec("k").in(x).in(k).out("y", x.at({at}));
  };
  const auto text = [&](const Position &at) { return print(spec(at)); };
  const std::string head = "kernel k {\n  in  x : f64[:]\n  in  k : i32[i]\n";
  const Expr q = let("q", {"i"}, k + 1), plain = let("q", k % 7);
  CHECK(text(index(q)) == head + "  let q[i] = k + 1\n  out y = x[q[i]]\n}\n");
  CHECK(text(2 * index(plain) + 1) == head + "  let q = k % 7\n  out y = x[2*q[i] + 1]\n}\n");
  CHECK(text(clip(index(q.at({axis("j") + 1})))) ==
        head + "  let q[i] = k + 1\n  out y = x[clip(q[j + 1])]\n}\n");
  // A value gets a name by what it is.
  const LoopSpec value = spec(index((k + 1) % 7) + index((k + 1) % 7) - index(k));
  const std::string printed = print(value);
  CHECK(print(parse(printed)) == printed);
  CHECK(std::size_t(std::ranges::count(printed, '\n')) == 6);
  CHECK(
      values(in_all_engines(value, {{"x", x10}, {"k", index_of({4, 0, 1, 2})}}).begin()->second) ==
      D{60, 20, 30, 40});
  const Expr bare = input("m", i32, {":"});
  CHECK(code_thrown_by([&] { return index(bare + 1); }) == "E0026");
  CHECK(code_thrown_by([&] { return index(Expr()); }) == "E0002");
}

TEST_CASE("an axis of which a fold says the extent stands in positions that are computed") {
  CHECK(value(x + k + "out y[i] = sum(x[(k[i] + u) % 7], u < 2)", xk) == D{50, 10, 30, 50});
  CHECK(
      value(x + k + "axis u < 3\nlet q[i, u] = (k[i] + iota(u)) % 7\nout y[i] = sum(x[q[i, u]], u)",
            xk) == D{90, 30, 60, 90});
  CHECK(value("axis u < 3\nout y[u] = iota(u) + 10. * extent(u)", {}) == D{30, 31, 32});
}

TEST_CASE("an axis of which an output says the extent stands in positions that are computed") {
  const std::string kernel = x + "in k : i32[i]\n";
  const D windows{20, 30, 40, 0, 10, 20, 80, 90, 0, 20, 30, 40};
  CHECK(value(kernel + "out y[i, u < 3] = x[(k[i] + u) % 10]", xk) == windows);
  CHECK(value(kernel + "out y[i, u < extent(k, 0) - 1] = x[(k + u) % 10]", xk) == windows);
  // A let that is named, and an axis that something else gives the let.
  CHECK(value(kernel + "let p[i, u] = (k[i] + iota(u)) % 10\nout y[i, u < 3] = x[p[i, u]]", xk) ==
        windows);
  CHECK(value(kernel + "let h[u] = x[u] + iota(u)\nout y[i, v < 2] = h[(k[i] + v) % 10]", xk) ==
        D{22, 33, 0, 11, 88, 99, 22, 33});
  CHECK(code_thrown_by([&] { value(kernel + "out y[i] = sum(x[(k[i] + u) % 10], u)", xk); }) ==
        "E0104");
}

TEST_CASE("an axis of a position that another input labels is as long as there") {
  const std::string w = "in w : f64[u]\n";
  const D ones{1, 1, 1}, twos{2, 1, 0};
  const auto with = [&](const D &weights) {
    std::vector<NamedView> all = xk;
    all.push_back({"w", View<const double>(weights.data(), {std::int64_t(weights.size())})});
    return all;
  };
  CHECK(value(x + k + w + "out y[i] = sum(x[(k[i] + u) % 7] * w, u)", with(ones)) ==
        value(x + k + "out y[i] = sum(x[(k[i] + u) % 7], u < 3)", xk));
  CHECK(value(x + k + w + "let q = k[i] * 1\nout y[i, u] = x[(q + u) % 7] * w", with(twos)) ==
        value(x + k + "axis u < 3\nout y[i, u] = x[(k[i] + u) % 7] * (2 - iota(u))", xk));
  const LoopSpec spec = parse("kernel t {" + x + k + w + "out y = x[(k[i] + u) % 7] * w }");
  CHECK(print(spec).find("let x_at[i, u] = (k[i] + iota(u, of=w)) % 7") != std::string::npos);
  CHECK(print(parse(print(spec))) == print(spec));
}

TEST_CASE("a function that folds says positions, too") {
  const auto said = [](const std::string &functions, const std::string &body,
                       const std::vector<NamedView> &inputs) {
    const LoopSpec spec = parse(functions + "kernel k {" + body + "}");
    CHECK(print(parse(print(spec))) == print(spec));
    return values(in_all_engines(spec, inputs).begin()->second);
  };
  const std::string sums =
      "def whole(a) = sum(a)\ndef along(a) = sum(a, i)\n"
      "def both(a, b) = along(a) + b\ndef twice(a, b) = both(both(a, b) * a, b)\n";
  CHECK(said(sums, x + "in k : i32[i]\nout y = x[whole(k) - 4]", xk) == D{80});
  CHECK(said(sums, x + "in k : i32[i]\nout y = x[along(k) // 4]", xk) == D{30});
  CHECK(said(sums, x + "in k : i32[i]\nin m : i32[j]\nout y[j] = x[both(k, m) // 4]",
             {{"x", x10}, {"k", k4}, {"m", index_of({0, 4})}}) == D{30, 40});
  // Folded in one place and read in the other.
  CHECK(said(sums, x + "in k : i32[i]\nout y[i] = x[both(k, k) // 4]", xk) == D{30, 30, 50, 30});
  CHECK(said(sums, x + "in k : i32[i]\nin m : i32[j]\nout y[j] = x[twice(k * m, m) % 10]",
             {{"x", x10}, {"k", k4}, {"m", index_of({1, 2})}}) == D{70, 60});
}
