// Kernels that call kernels.
#include "tests/unit/kernel/all_engines.hpp"

#include <string>
#include <vector>

using namespace broadloom;
namespace bl = broadloom;

namespace {

const std::string callees = R"(
def twice(a) = a + a
kernel dense { in x : f64[n, i]; in w : f64[i, o]; in b : f64[o]; out y = relu(sum(x * w, i) + b) }
kernel softmax { in x : f64[:, :]; let e = exp(x - max(x, 1)); out p = e / sum(e, -1) }
kernel stats { in x : f64[k, l]; out m = mean(x, l); out s[l] = reduce(sum) x * x; out c[l] = accumulate(max) x + 1; out t = twice(x) }
kernel outer { in x : f64[i]; in y : f64[j]; out z = x * y }
kernel slope { in x : f64[:]; out d = x[i + 1] - x[i] }
kernel twice_slope { in x : f64[:]; let d = x[i + 1] - x[i]; out y = d[i + 1] - d[i] }
kernel padded { in x : f64[i]; let p = pad(x, i: (1, 1), edge); out y = p[i + 2] - p[i] }
kernel rows { in x : f64[:, :]; in k : i32[n]; out y = x[k[n], j] }
kernel centred { in x : f64[i]; in mean : f64[i=1]; out y = x - mean }
kernel spread { in v : f64[j]; in x : f64[i, j]; out y = sum(v * iota(j), like=x) + extent(j) }
kernel single { in x : f32[i]; out y : f64 = x / 3 }
kernel pooled { in x : f64[:]; out y[i] = max(x[2*i + u], u < 2); out n = sum(iota(v), v < 3) }
kernel head { in x : f64[:]; in m : f64[:]; out y[i < extent(m, 0) - 1] = x[i + 0]; out one = m[0] }
kernel windowed { in x : f64[:]; in m : f64[:]; axis u < extent(m, 0); out y = sum(x[i + u] * iota(u), u) }
kernel running { in x : f64[t]; in s0 : f64; let s[t] = x + 0.5 * s[t - 1] from s0; out y[t] = s }
kernel waves { in u0 : f64[i]; let u[t < 5, i] = u[t - 1, i] + v[t - 1, i] from u0
  let v[t < 5, i] = v[t - 1, i] - 0.25 * pad(u, 1: (1, 1), edge)[t, i + 1] + 0.125 * pad(u, 1: (1, 1), edge)[t - 1, i]
  out y[i] = u[-1, i]; out z[t, i] = v }
kernel pairs { in x : f64[n]; in y : f64[n]; out z[2*i] = x[i]; out z[2*i + 1] = y[i] * 2 }
kernel last { in x : f64[n]; let h[i < 2] = x[i + 1] * 3; out y = h[i] - h[1] }
kernel repeated { in x : f64[i, j]; in v : f64[j]; out y = broadcast(like=x) v * 2 }
)";

Array counting(std::vector<std::int64_t> shape, DType dtype = f64) {
  Array made(dtype, std::move(shape));
  for (std::int64_t k = 0; k < made.size(); ++k) {
    const double value = double((k * 7) % 11) / 4 - 1;
    if (dtype == f64) made.data<double>()[k] = value;
    if (dtype == f32) made.data<float>()[k] = float(value);
    if (dtype == i32) made.data<std::int32_t>()[k] = std::int32_t(k % 3);
  }
  return made;
}

// The outputs of the kernel `k` in all engines must have equal bytes; those of two texts, too.
void check_same(const std::string &called, const std::string &written,
                const std::vector<Array> &inputs) {
  std::vector<std::vector<unsigned char>> first;
  for (const std::string &text : {called, written}) {
    const LoopSpec spec = parse(callees + "kernel k { " + text + " }", "k");
    CAPTURE(bl::print(spec));
    CHECK(bl::print(parse(bl::print(spec))) == bl::print(spec));
    const auto declared = compile(spec).inputs();
    std::vector<NamedView> given;
    for (std::size_t k = 0; k < inputs.size(); ++k) given.push_back({declared[k].name, inputs[k]});
    std::vector<std::vector<unsigned char>> now;
    for (const auto &[output, array] : tests::in_all_engines(spec, given))
      now.push_back(tests::bytes(array));
    if (first.empty()) first = now;
    CHECK(now == first);
  }
}

std::string code_of(const std::string &text) {
  try {
    compile(parse(callees + "kernel k { " + text + " }", "k"));
  } catch (const Error &error) {
    return error.code();
  }
  return "none";
}

} // namespace

TEST_CASE("an array has its dims as it lists them, by whichever name a kernel is called with it") {
  const std::string in = "in h : f64[i]; in z : f64[n]; let a[n, i] = z * h + z; ";
  const Array h = counting({3}), z = counting({4});
  check_same(in + "let b = a; call softmax(b) -> s; out y[n, i] = s",
             in + "call softmax(a) -> s; out y[n, i] = s", {h, z});
  check_same(in + "let b = a; let c = b; call softmax(c) -> s; out y[n, i] = s",
             in + "let e = exp(a - max(a, i)); out y[n, i] = e / sum(e, i)", {h, z});
}

TEST_CASE("a kernel that calls another computes what the same written out computes") {
  const Array x = counting({4, 5}), w = counting({5, 6}), v = counting({6, 2}), b = counting({6}),
              c = counting({2}); // two terms have one sum in any order
  const std::string in =
      "in x : f64[r, p]; in w : f64[:, :]; in b : f64[:]; in v : f64[h, q]; in c : f64[q]; ";
  check_same(in + "call dense(x, w, b) -> g[r, h]; call dense(g, w=v, b=c) -> z; call softmax(z) "
                  "-> s; out y = s; out y2 = z",
             in +
                 "let g[r, h] = relu(sum(x * w[p, h], p) + b[h]); let z = relu(sum(g * v, h) + c); "
                 "let e = exp(z - max(z, q)); out y = e / sum(e, q); out y2 = z",
             {x, w, b, v, c});
}

TEST_CASE("the modes of a kernel that is called are those of its outputs") {
  check_same(
      "in x : f64[a, b]; call stats(x) -> m, s, c, t; out o1 = m; out o2 = s + c; out o3 = t - m",
      "in x : f64[a, b]; out o1 = mean(x, b); out o2 = sum(x * x, a) + (max(x, a) + 1); out o3 = x "
      "+ x - mean(x, b)",
      {counting({7, 9})});
}

TEST_CASE("a mode that folds nothing is the value in the type of the output") {
  const std::string f =
      "kernel f { in x : i32[i]; out y[i] = reduce(sum) x; out z[i] = reduce(mean) x } ";
  const Array x = counting({6}, i32);
  const LoopSpec called =
      parse(f + "kernel k { in x : i32[i]; call f(x) -> a, b; out y = a; out z = b }", "k");
  const Results want = compile(parse(f, "f"))({{"x", x}}),
                got = tests::in_all_engines(called, {{"x", x}});
  for (const char *name : {"y", "z"}) {
    CHECK(got[name].dtype() == want[name].dtype());
    CHECK(tests::bytes(got[name]) == tests::bytes(want[name]));
  }
}

TEST_CASE("positions of axes count those of the kernel that is called, without axes of windows") {
  const std::string f =
      "kernel f { in x : f64[:, :]; in w : f64[:, :]; out y = sum(x, -1) + w[0, 1] } ";
  const LoopSpec called = parse(
      f + "kernel k { in x : f64[:, :]; in w : f64[:, :]; call f(x, w) -> a; out y = a }", "k");
  const Array x = counting({2, 3}), w = counting({2, 2});
  const Results want = compile(parse(f, "f"))({{"x", x}, {"w", w}});
  CHECK(tests::bytes(tests::in_all_engines(called, {{"x", x}, {"w", w}})["y"]) ==
        tests::bytes(want["y"]));
}

TEST_CASE("one argument for two inputs walks two axes") {
  check_same("in x : f64[i]; call outer(x, x) -> z; out y = z",
             "in x : f64[i]; out y = x[i] * x[j]", {counting({6})});
  check_same("in x : f64[i]; call outer(x, x) -> z[a, b]; out y = z[b, a + 2]",
             "in x : f64[i]; out y = x[b] * x[a + 2]", {counting({6})});
}

TEST_CASE("windows, lets that are arrays, paddings and gathers stand in kernels that are called") {
  const Array x = counting({12});
  check_same("in x : f64[:]; call slope(x * 2) -> d; call slope(d) -> e[i]; out y = e",
             "in x : f64[:]; let a = x * 2; let d = a[i + 1] - a[i]; out y = d[i + 1] - d[i]", {x});
  check_same("in x : f64[:]; call twice_slope(x) -> e; out y = e",
             "in x : f64[:]; let d = x[i + 1] - x[i]; out y = d[i + 1] - d[i]", {x});
  check_same("in x : f64[j]; call padded(x) -> e; out y = e + x",
             "in x : f64[j]; let p = pad(x, j: (1, 1), edge); out y = p[j + 2] - p[j] + x", {x});
  check_same("in x : f64[:, :]; in k : i32[m]; call rows(x, k) -> e; out y = e",
             "in x : f64[:, :]; in k : i32[m]; out y = x[k[m], j]",
             {counting({3, 4}), counting({7}, i32)});
  check_same("in x : f64[a]; in m : f64[a=1]; call centred(x, m) -> e; out y = e",
             "in x : f64[a]; in m : f64[a=1]; out y = x - m", {x, counting({1})});
  check_same("in x : f64[j]; in z : f64[n, j]; call spread(x, z) -> e; out y = e + z",
             "in x : f64[j]; in z : f64[n, j]; out y = sum(x * iota(j), like=z) + extent(j) + z",
             {counting({4}), counting({3, 4})});
  check_same("in x : f64[a]; call single(x) -> e; out y = e",
             "in x : f64[a]; out y = f64(f32(x) / 3)", {x});
}

TEST_CASE("extents that a kernel says hold where it is called") {
  const Array x = counting({7}), m = counting({4});
  const std::string in = "in x : f64[:]; in m : f64[:]; ";
  check_same(
      "in x : f64[:]; call pooled(x) -> h[p], n; out y = h; out c = n",
      "in x : f64[:]; let h[p] = max(x[2*p + u], u < 2); out y = h; out c = sum(iota(v), v < 3)",
      {x});
  check_same(
      "in x : f64[:]; call pooled(x) -> h, n; call pooled(h) -> g, m; out y = g; out c = n + m",
      "in x : f64[:]; let h = max(x[2*i + u], u < 2); out y = max(h[2*i + v], v < 2); "
      "out c = 2 * sum(iota(w), w < 3)",
      {x});
  check_same(in + "call head(x, m) -> h, a; out y = h; out b = a",
             in + "let h[i < extent(m, 0) - 1] = x[i + 0]; out y = h; out b = m[0]", {x, m});
  check_same(in + "call head(x, m * 2) -> h[k], a; out y = h * h; out b = a",
             in + "let h[k < extent(m, 0) - 1] = x[k + 0]; out y = h * h; out b = m[0] * 2",
             {x, m});
  check_same(in + "call windowed(x, m) -> y; out z = y",
             in + "axis u < extent(m, 0); out z = sum(x[i + u] * iota(u), u)", {x, m});
  check_same(in + "let d[k] = m[k + 1]; call windowed(x, d) -> y; out z = y",
             in + "axis u < extent(m, 0) - 1; out z = sum(x[i + u] * iota(u), u)", {x, m});
  check_same("in x : f64[n]; call last(x) -> y; out z = y",
             "in x : f64[n]; let h[i < 2] = x[i + 1] * 3; out z = h[i] - h[1]", {x});
}

TEST_CASE("loops over time and parts at positions stand in kernels that are called") {
  const Array x = counting({6}), y = counting({6}), s = counting({});
  const std::string in = "in x : f64[k]; in s : f64; ";
  check_same(in + "call running(x, s) -> r; out z = r",
             in + "let r[k] = x + 0.5 * r[k - 1] from s; out z = r", {x, s});
  check_same(in + "call running(x, s) -> r[j]; call running(r, s * 2) -> q; out z = q[-1] + r[i]",
             in + "let r[k] = x + 0.5 * r[k - 1] from s; let q[k] = r + 0.5 * q[k - 1] from s * 2; "
                  "out z = q[-1] + r[i]",
             {x, s});
  const std::string waves =
      "let u[t < 5, p] = u[t - 1, p] + v[t - 1, p] from x\n"
      "let v[t < 5, p] = v[t - 1, p] - 0.25 * pad(u, 1: (1, 1), edge)[t, p + 1]"
      " + 0.125 * pad(u, 1: (1, 1), edge)[t - 1, p]\n";
  check_same("in x : f64[p]; call waves(x) -> a, b; out y = a; out z[t, p] = b",
             "in x : f64[p]\n" + waves + "out y[p] = u[-1, p]; out z[t, p] = v", {x});
  check_same("in x : f64[n]; in y : f64[n]; call pairs(x, y) -> z; out w = z",
             "in x : f64[n]; in y : f64[n]; out w[2*i] = x[i]; out w[2*i + 1] = y[i] * 2", {x, y});
}

TEST_CASE("an output with the shape of an input, or of a let, is repeated where it is called") {
  const std::string in = "in x : f64[i, j]; in v : f64[j]; ";
  const Array x = counting({3, 4}), v = counting({4});
  check_same(in + "call repeated(x, v) -> y; out z = y", in + "out z = broadcast(like=x) v * 2",
             {x, v});
  check_same(in + "let h[i, j] = x * x; call spread(v, h) -> y; out z = y",
             in + "out z = sum(v * iota(j), like=x) + extent(j, of=v)", {x, v});
}

TEST_CASE("gradients go through calls of kernels with loops and extents of their own") {
  const LoopSpec spec =
      parse(callees + "kernel k { in x : f64[q]; in s : f64; call running(x, s) -> r; "
                      "call pooled(r) -> h[i], n; out y = sum(h * h, i) * n }",
            "k");
  const GradientCheck check = check_gradient(spec, {{"x", counting({6})}, {"s", counting({})}});
  CHECK(check.slopes.size() == 2);
  CHECK(check.passed());
}

TEST_CASE("gradients go through calls") {
  const LoopSpec spec =
      parse(callees + "kernel k { in x : f64[r, p]; in w : f64[p, h]; in b : f64[h]; "
                      "call dense(x, w, b) -> g[r, h]; call softmax(g) -> s; out y = sum(s * s) }",
            "k");
  const GradientCheck check = check_gradient(
      spec, {{"x", counting({4, 5})}, {"w", counting({5, 3})}, {"b", counting({3})}});
  CHECK(check.slopes.size() == 3);
  CHECK(check.passed());
}

TEST_CASE("a kernel is called from C++") {
  const LoopSpec dense = parse(callees, "dense");
  const Expr x = bl::input("x", f64, {"r", "p"}), w = bl::input("w", f64, {"p", "h"}),
             b = bl::input("b", f64, {"h"});
  LoopSpec net("k");
  net.out("y", call(dense, {x, w, b}, {{"g", {"r", "h"}}})[0]);
  CHECK(bl::print(net) ==
        bl::print(parse(callees + "kernel k { in x : f64[r, p]; in w : f64[p, h]; in b : f64[h]; "
                                  "call dense(x, w, b) -> g[r, h]; out y = g }",
                        "k")));
  CHECK_THROWS_AS(call(dense, {x, w}, {{"g"}}), SpecError);
  const Expr v = bl::input("v", f64, {":"});
  LoopSpec loop("k");
  loop.out("y", call(parse(callees, "last"), {v}, {{"r"}})[0]);
  CHECK(bl::print(loop) == bl::print(parse(callees + "kernel k { in v : f64[:]; "
                                                     "call last(v) -> r; out y = r }",
                                           "k")));
  // A text alone says extents of axes.
  CHECK_THROWS_WITH_AS(call(parse(callees, "pooled"), {v}, {{"h"}, {"n"}}),
                       doctest::Contains("it says axis["), SpecError);
}

TEST_CASE("a call that does not fit is an error that says why") {
  const std::string in = "in x : f64[i]; in m : f64[i, j]; ";
  CHECK(code_of(in + "call nothing(x) -> a; out y = a") == "E0050");
  CHECK(code_of(in + "call k(x) -> a; out y = a") == "E0050");
  CHECK(code_of(in + "call slope() -> a; out y = a") == "E0051");
  CHECK(code_of(in + "call slope(x, x) -> a; out y = a") == "E0051");
  CHECK(code_of(in + "call slope(z=x) -> a; out y = a") == "E0051");
  CHECK(code_of(in + "call slope(x, x=x) -> a; out y = a") == "E0051");
  CHECK(code_of(in + "call slope(x) -> a, b; out y = a") == "E0051");
  CHECK(code_of(in + "call slope(x) -> a[i, j]; out y = a") == "E0051");
  CHECK(code_of(in + "call slope(m) -> a; out y = a") == "E0051");
  CHECK(code_of(in + "call slope(x) -> x; out y = x") == "E0004");
  CHECK(code_of(in + "call slope(x) -> a; call slope(x) -> a; out y = a") == "E0004");
  CHECK(code_of(in + "call slope(x) a; out y = a") == "E0002");
  const auto refused = [](const std::string &callee) {
    try {
      parse("kernel f { " + callee + " } kernel k { in x : f64[i]; call f(x) -> a; out y = a }",
            "k");
    } catch (const SpecError &error) {
      return error.code();
    }
    return std::string("none");
  };
  CHECK(refused("state s : f64[i]; update s = s + 1; out y = s") == "E0052");
  CHECK(refused("in x : f64[i]; out y += x") == "E0052");
  CHECK(refused("in x : f64[i]; out y[i] = reduce(norm) x") == "E0052");
  CHECK(refused("in x : f64[i]; out y[i] = reduce(sum, init=2) x") == "E0052");
}

TEST_CASE("calls of calls grow as far as the limit and no further") {
  std::string text = "kernel k0 { in x : f64[i]; out y = x * 2 + 1 }\n";
  for (int n = 1; n < 40; ++n) {
    const std::string before = "call k" + std::to_string(n - 1);
    text += "kernel k" + std::to_string(n) + " { in x : f64[i]; " + before + "(x) -> a; " + before +
            "(a) -> b; out y = b }\n";
  }
  CHECK_THROWS_WITH_AS(parse_all(text), doctest::Contains("lets, written out"), SpecError);
}
