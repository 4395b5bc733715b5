// Gradients by inputs that are read through windows: what they print, what they are, and that all
// engines agree on every bit. Each kernel is checked against measured slopes, and so is its
// gradient, which is a kernel of windows and sums through them again.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

using D = std::vector<double>;

struct Input {
  std::string name;
  std::vector<std::int64_t> extents;
};

LoopSpec kernel(const std::string &body) { return parse("kernel k {\n" + body + "\n}"); }

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

Array filled(DType dtype, const std::vector<std::int64_t> &extents, std::size_t seed) {
  Array a(dtype, extents);
  for (std::int64_t k = 0; k < a.size(); ++k) {
    const double x = std::sin(double(k + 1) * (1.7 + 0.31 * double(seed))) + 0.1 * double(seed % 3);
    if (dtype == i32)
      a.data<std::int32_t>()[k] = std::int32_t(k * 5 % 4); // an index
    else if (dtype == f32)
      a.data<float>()[k] = float(x);
    else
      a.data<double>()[k] = x;
  }
  return a;
}

bool same_bits(const Array &a, const Array &b) {
  const Array x = a.copy(), y = b.copy();
  return x.size() == y.size() &&
         std::memcmp(x.raw(), y.raw(), std::size_t(x.size()) * size_of(x.dtype())) == 0;
}

// What a kernel is called with: views know their names by address.
struct Data {
  Data(const LoopSpec &spec, const std::vector<Input> &inputs)
      : infos(compile(spec, {.engine = Engine::reference}).inputs()) {
    for (const InputInfo &info : infos)
      for (const Input &input : inputs)
        if (input.name == info.name)
          arrays.push_back(filled(info.dtype, input.extents, arrays.size()));
    REQUIRE(arrays.size() == infos.size());
    for (std::size_t k = 0; k < infos.size(); ++k) views.push_back({infos[k].name, arrays[k]});
  }
  std::vector<InputInfo> infos;
  std::vector<Array> arrays;
  std::vector<NamedView> views;
};

// The results of the reference, which every engine and any number of threads gives.
void check_engines(const LoopSpec &spec, const std::vector<NamedView> &views) {
  const Results first = compile(spec, {.threads = 1, .engine = Engine::jit}).call(views);
  const Results many = compile(spec, {.threads = 4, .engine = Engine::jit}).call(views);
  const Results slow = compile(spec, {.engine = Engine::interpreter}).call(views);
  const Results plain = compile(spec, {.engine = Engine::reference}).call(views);
  for (const auto &info : compile(spec, {.engine = Engine::reference}).infer_named(views)) {
    CHECK(same_bits(first[info.name], many[info.name]));
    CHECK(same_bits(first[info.name], slow[info.name]));
    const Array got = first[info.name].copy(), wanted = plain[info.name].copy();
    for (std::int64_t k = 0; k < got.size(); ++k)
      if (got.dtype() == f32)
        CHECK(got.data<float>()[k] == doctest::Approx(wanted.data<float>()[k]).epsilon(1e-5));
  }
}

// The slopes of the kernel and of its gradient by all its inputs; the text that is given stands in
// the gradient.
void check(const std::string &body, const std::vector<Input> &inputs, const std::string &by,
           const std::string &expected) {
  INFO(body);
  const LoopSpec spec = kernel(body);
  const Data data(spec, inputs);
  const std::vector<NamedView> &views = data.views;
  CHECK(print(parse(print(spec))) == print(spec));
  check_engines(spec, views);
  const GradientCheck slopes = check_gradient(spec, views);
  for (const SlopeCheck &slope : slopes.slopes) {
    INFO(slope.output << " by " << slope.input << ": " << slope.derived << " for " << slope.measured
                      << " " << slope.reason);
    CHECK(slope.slope == Slope::agrees);
  }

  const LoopSpec back = gradient(spec, {by});
  INFO(print(back));
  CHECK(has(print(back), "out d_" + by + " : " + expected));
  CHECK(print(parse(print(back))) == print(back));
  std::vector<Input> more = inputs;
  const Kernel forward = compile(spec, {.engine = Engine::reference});
  for (const auto &info : forward.infer_named(views))
    more.push_back({"d_" + info.name, {info.shape.begin(), info.shape.end()}});
  const Data back_data(back, more);
  const std::vector<NamedView> &back_views = back_data.views;
  check_engines(back, back_views);
  for (const SlopeCheck &slope : check_gradient(back, back_views).slopes) {
    INFO(slope.output << " by " << slope.input << ": " << slope.derived << " for " << slope.measured
                      << " " << slope.reason);
    CHECK((slope.slope == Slope::agrees || slope.slope == Slope::not_smooth));
  }
}

std::string code_of(const LoopSpec &spec) {
  try {
    compile(spec, {.engine = Engine::reference});
  } catch (const Error &error) {
    return error.code();
  }
  return "";
}

D values(const Array &a) {
  const Array dense = a.copy();
  return D(dense.data<double>(), dense.data<double>() + dense.size());
}

} // namespace

TEST_CASE("a correlation sends back a convolution") {
  check("in x : f32[:]\nin k : f32[u]\nout y = sum(x[i + u] * k, u)", {{"x", {20}}, {"k", {3}}},
        "x", "f32 = sum(d_y * k, like=x[i + u])");
  check("in x : f32[:]\nin k : f32[u]\nout y = sum(x[i + u] * k, u)", {{"x", {20}}, {"k", {3}}},
        "k", "f32 = reduce(sum, like=k) d_y * x[i + u]");
}

TEST_CASE("strides and dilations leave out the positions that nothing is read at") {
  check("in x : f32[:]\nin k : f32[u]\nout y = sum(x[2*i + u] * k, u)", {{"x", {22}}, {"k", {3}}},
        "x", "f32 = sum(d_y * k, like=x[2*i + u])");
  check("in x : f32[:]\nin k : f32[u]\nout y = sum(x[3*i + 2*u + 1]^2 * k, u)",
        {{"x", {23}}, {"k", {4}}}, "x",
        "f32 = sum(d_y * k * (2 * x[3*i + 2*u + 1]), like=x[3*i + 2*u + 1])");
  check("in x : f32[:, :]\nin k : f32[u, v]\nout y = sum(x[2*i + u, j + 3*v] * k, u, v)",
        {{"x", {9, 14}}, {"k", {3, 2}}}, "x", "f32 = sum(d_y * k, like=x[2*i + u, j + 3*v])");
  check("in x : f32[n, h, w, c]\nin k : f32[o, u, v, c]\n"
        "out y[n, i, j, o] = sum(x[n, 2*i + u, j + v, c] * k, u, v, c)",
        {{"x", {2, 7, 6, 3}}, {"k", {4, 3, 2, 3}}}, "x",
        "f32 = sum(d_y * k, like=x[n, 2*i + u, j + v, c])");
}

TEST_CASE("pooling by the maximum sends back to the greatest elements") {
  check("in x : f32[:]\nin w : f32[u]\nout y = max(x[2*i + u] * w, u)", {{"x", {15}}, {"w", {3}}},
        "x", "f32 = sum(where(t2, d_y / sum(t2, u) * w, 0), like=x[2*i + u])");
}

TEST_CASE("a diagonal goes back to a diagonal, and a dim that is reversed is reversed again") {
  check("in x : f32[:, :]\nin w : f32[i]\nout y = w * x[i, i]", {{"x", {5, 5}}, {"w", {5}}}, "x",
        "f32 = sum(d_y * w, like=x[i, i])");
  check("in x : f32[p]\nin w : f32[i]\nout y = x[-i]^2 * w", {{"x", {7}}, {"w", {5}}}, "x",
        "f32 = sum(d_y * w * (2 * x[-i]), like=x[-i])");
  check("in x : f32[p]\nin k : f32[u]\nout y = sum(x[i - u + 2]^2 * k, u)",
        {{"x", {9}}, {"k", {3}}}, "x",
        "f32 = sum(d_y * k * (2 * x[i - u + 2]), like=x[i - u + 2])");
}

TEST_CASE("a row that is read by its number gets what comes back, the others get 0") {
  check("in x : f32[:, :]\nin w : f32[i]\nout y = w * x[3, i]^2 + x[-1, i]",
        {{"x", {6, 5}}, {"w", {5}}}, "x",
        "f32 = sum(d_y * w * (2 * x[3, i]), like=x[3, i]) + sum(d_y, like=x[-1, i])");
}

TEST_CASE("positions of several axes are solved together") {
  check("in x : f32[:, :]\nin a : f32[i]\nin b : f32[j]\nout y = a * b * x[i + j, i - j + 3]",
        {{"x", {9, 9}}, {"a", {4}}, {"b", {4}}}, "x",
        "f32 = sum(d_y * (a * b), like=x[i + j, i - j + 3])");
  check("in x : f32[:, :, :]\nin a : f32[i]\nin b : f32[j]\n"
        "out y = a * b * x[2*i + 3*j, 3*i - 2*j + 6, i]",
        {{"x", {19, 16, 4}}, {"a", {4}}, {"b", {4}}}, "x",
        "f32 = sum(d_y * (a * b), like=x[2*i + 3*j, 3*i - 2*j + 6, i])");
}

TEST_CASE("one input under two labels gets both reads back, as plain products") {
  const std::string gram = "in x : f32[i, k]\nout z = sum(x[i, k] * x[j, k], k)";
  check(gram, {{"x", {5, 4}}}, "x",
        "f32 = sum(d_z * x[j, k], like=x[i, k]) + sum(d_z * x[i, k], like=x[j, k])");
  check("in x : f32[i, k]\nout z = sum(x * x[j, k], k)", {{"x", {5, 4}}}, "x",
        "f32 = sum(d_z * x[j, k], like=x) + sum(d_z * x, like=x[j, k])");
  const std::string graph = compile(gradient(kernel(gram), {"x"})).show(Stage::graph);
  INFO(graph);
  CHECK_FALSE(has(graph, "where"));
  CHECK_FALSE(has(graph, "index"));
}

TEST_CASE("several windows of one input add what they get") {
  check("in x : f32[:]\nin w : f32[i]\nout z = w * (x[i + 2] - 2*x[i + 1] + x[i])^2",
        {{"x", {12}}, {"w", {10}}}, "x",
        "f32 = sum(t0, like=x[i + 2]) + sum(-t0 * 2, like=x[i + 1]) + sum(t0, like=x[i])");
}

TEST_CASE("what is folded inside keeps its meaning where the names of axes meet") {
  check("in x : f32[:]\nin w : f32[u]\nlet e = exp(x[2*i + u] * w)\nout y = e / sum(e, u)",
        {{"x", {13}}, {"w", {3}}}, "x", "f32 = sum(");
  check("in x : f32[i, k]\nlet s = sum(x[i, k] * x[j, k], k)\nlet e = exp(s)\n"
        "out y[i, c] = sum(e / sum(e, j) * x[j, c], j)",
        {{"x", {5, 4}}}, "x", "f32 = sum(");
  check("in x : f64[:]\nin w : f64[u]\nout y = logsumexp(x[2*i + u] * w, u)\n"
        "out v = var(x[i + 2*u] * w, u)",
        {{"x", {13}}, {"w", {3}}}, "x", "f64 = sum(");
}

TEST_CASE("indices and extents follow the positions") {
  check("in x : f32[:]\nin k : f32[u]\nout y = sum(x[2*i + u] * k * iota(i) + iota(u) * x[i + "
        "u]^2, u)",
        {{"x", {12}}, {"k", {3}}}, "x", "f32 = sum(");
  check("in x : f32[:]\nout y = mean(x[2*i]^2, i)", {{"x", {12}}}, "x",
        "f32 = sum(d_y / extent(i, of=x[2*i]) * (2 * x[2*i]), like=x[2*i])");
}

// In both sums the positions that the index is of come to x[x_0], which has no axis b.
TEST_CASE("the index of an axis of a window is what it is in the second sum through it, too") {
  const LoopSpec spec = kernel("in x : f64[:]\nin d : f64[x_0]\nin e : f64[a]\nin g : f64[b]\n"
                               "out z = sum(f64(0), like=x[2*a + 3*b])\n"
                               "out y = sum(where(iota(b, of=x[2*a + 3*b]) >= 1, e * g, 0), "
                               "like=d[2*a + 3*b])");
  const D nine(9), e{1, 2, 4}, g{1, 10};
  for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
    const Results results =
        compile(spec, {.engine = engine})
            .call(std::vector<NamedView>{{"x", View<const double>(nine.data(), {9})},
                                         {"d", View<const double>(nine.data(), {9})},
                                         {"e", View<const double>(e.data(), {3})},
                                         {"g", View<const double>(g.data(), {2})}});
    CHECK(values(results["y"]) == D{0, 0, 0, 10, 0, 20, 0, 40, 0});
    CHECK(values(results["z"]) == D(9));
  }
}

TEST_CASE("a dim of 1 that is repeated along an axis of the window is read at its only position") {
  for (const char *order : {"order c\n", "order f\n"})
    check(std::string(order) +
              "in x : f32[:]\nin v : f32[:]\nin k : f32[i, u]\nout y = sum(x[i + u] * k * v, u)",
          {{"x", {12}}, {"v", {1}}, {"k", {10, 3}}}, "x", "f32 = sum(");
}

TEST_CASE("what is infinite beside no element is no NaN") {
  const double inf = std::numeric_limits<double>::infinity();
  const LoopSpec spec = kernel("in x : f64[:]\nin k : f64[u]\nin d_y : f64[i]\n"
                               "out d_x = sum(d_y * k, like=x[2*i + u])");
  const D x(7), k{1, inf, 2}, d_y{1, 2, 4};
  for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
    const Results results =
        compile(spec, {.engine = engine})
            .call(std::vector<NamedView>{{"x", View<const double>(x.data(), {7})},
                                         {"k", View<const double>(k.data(), {3})},
                                         {"d_y", View<const double>(d_y.data(), {3})}});
    CHECK(values(results["d_x"]) == D{1, inf, 4, inf, 8, inf, 8});
  }
}

TEST_CASE(
    "a bound call reads its inputs again, also those of which it has a copy with zeros around") {
  const LoopSpec spec = kernel("in x : f64[:]\nin k : f64[u]\nin d_y : f64[i]\n"
                               "out d_x = sum(d_y * k, like=x[i + u])");
  const Kernel compiled = compile(spec);
  const D x(5);
  D k{1, 10}, d_y{1, 2, 3, 4}, d_x(5);
  const BoundCall call =
      compiled.bind_named(std::vector<NamedView>{{"x", View<const double>(x.data(), {5})},
                                                 {"k", View<const double>(k.data(), {2})},
                                                 {"d_y", View<const double>(d_y.data(), {4})}},
                          std::vector<NamedView>{{"d_x", View<double>(d_x.data(), {5})}});
  call();
  CHECK(d_x == D{1, 12, 23, 34, 40});
  d_y = {4, 3, 2, 1};
  k[1] = 0;
  call();
  CHECK(d_x == D{4, 3, 2, 1, 0});
}

TEST_CASE("values may be saved for a backward pass through windows") {
  const LoopSpec spec = kernel("in x : f32[:]\nin k : f32[u]\nout y = exp(sum(x[i + u] * k, u))");
  GradientOptions saving;
  saving.policy = Policy::save;
  CHECK(has(print(gradient(spec, {"x"}, saving)), "sum(d_y * saved_0 * k, like=x[i + u])"));
  CHECK(print(parse(print(gradient(spec, {"x"}, saving)))) == print(gradient(spec, {"x"}, saving)));
  GradientOptions both;
  both.value = true;
  CHECK(has(print(gradient(spec, {"x"}, both)), "like=x[i + u]"));
}

TEST_CASE("a sum through a window repeats what lacks its axes, and is repeated over what nothing "
          "is read at") {
  const LoopSpec spec =
      kernel("in x : f64[:]\nin k : f64[u]\nin v : f64[i]\nout n = sum(k, like=x[2*i + u])\n"
             "out m = sum(1, like=x[2*i + u])");
  const D x(8), k{1, 10, 100}, v(3);
  for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
    const Results results =
        compile(spec, {.engine = engine})
            .call(std::vector<NamedView>{{"x", View<const double>(x.data(), {8})},
                                         {"k", View<const double>(k.data(), {3})},
                                         {"v", View<const double>(v.data(), {3})}});
    CHECK(values(results["n"]) == D{1, 10, 101, 10, 101, 10, 100, 0});
  }
}

TEST_CASE(
    "only sums are taken through windows, in expressions, and of nothing that runs along them") {
  const std::string inputs = "in x : f32[:]\nin k : f32[u]\nin e : f32[i, u]\n";
  CHECK(code_of(kernel(inputs + "out z = max(e, like=x[i + u])")) == "E0021");
  CHECK(code_of(kernel(inputs + "out z = mean(e, like=x[i + u])")) == "E0021");
  CHECK(code_of(kernel(inputs + "out z = sum(e, like=x[i + u], init=1)")) == "E0021");
  CHECK(code_of(kernel(inputs + "out z = reduce(sum, like=x[i + u]) e")) == "E0021");
  CHECK(code_of(kernel(inputs + "out z = sum(scan(sum, e, u), like=x[i + u])")) == "E0605");
  CHECK(code_of(kernel(inputs + "out z = sum(scan(sum, e, i), like=x[i + u])")) == "E0605");
}

TEST_CASE("a gather sends back a sum through it, and that a gather") {
  check("in x : f64[:, :]\nin k : i32[:]\nout y = x[k[i], j]^2", {{"x", {4, 3}}, {"k", {6}}}, "x",
        "f64 = sum(");
  check("in x : f32[:]\nin k : i32[:]\nin w : f32[i]\nout y = sum(exp(x[k[i]]) * w)",
        {{"x", {5}}, {"k", {7}}, {"w", {7}}}, "x", "f32 = sum(");
  check("in x : f64[:]\nin k : i32[:]\nin e : f64[i]\nout d = 3 * sum(e * e, like=x[k[i]])",
        {{"x", {4}}, {"k", {6}}, {"e", {6}}}, "e", "f64 = ");
}

TEST_CASE("an input that is read as it lies and by an index gets the sum of both") {
  check("in x : f64[p]\nin k : i32[:]\nout y = x[k[i]] * x[clip(k[i] + 2)] + sum(x * x)",
        {{"x", {5}}, {"k", {6}}}, "x", "f64 = sum(");
  check("in t : f64[:, :]\nin k : i32[n, m]\nin w : f64[c]\nout y = sum(t[k[n, m], c] * w, m) / "
        "sum(t[r, c], r)",
        {{"t", {4, 3}}, {"k", {3, 2}}, {"w", {3}}}, "t", "f64 = sum(");
}

TEST_CASE("a gather of a padded input sends back to the elements that the borders repeat") {
  for (const std::string mode : {"", ", 2.5", ", edge", ", wrap", ", reflect"})
    check("in x : f64[:]\nin k : i32[:]\nout y = pad(x, 0: (2, 3)" + mode + ")[wrap(k[i])]^2",
          {{"x", {4}}, {"k", {6}}}, "x", "f64 = sum(");
}

TEST_CASE("gathers send back through lets that are arrays") {
  check("in x : f64[:]\nin k : i32[:]\nlet h = x[k[i]]^2\nout y = h[p + 1] * h[p]",
        {{"x", {4}}, {"k", {6}}}, "x", "f64 = sum(");
  check("in x : f64[:]\nin k : i32[:]\nlet h = x[i + 1] - x[i]\nout y = h[clip(k[p])]^2",
        {{"x", {5}}, {"k", {6}}}, "x", "f64 = sum(");
  check("in x : f64[:]\nin k : i32[:]\nin e : f64[i]\nlet h = sum(e^2, like=x[k[i]])\n"
        "out y = h[p + 1] * h[p]",
        {{"x", {4}}, {"k", {6}}, {"e", {6}}}, "e", "f64 = ");
}

TEST_CASE("what is read or added at positions that are computed sends back by the same positions") {
  const std::string inputs = "in x : f64[:]\nin k : i32[:]\n", e = "in e : f64[i]\n";
  const std::vector<Input> xk{{"x", {4}}, {"k", {6}}}, xke{{"x", {4}}, {"k", {6}}, {"e", {6}}};
  check(inputs + "let q = (k[i] + 1) % 4\nout y = x[q[i]]^2", xk, "x", "f64 = sum(");
  check(inputs + "out y = x[(3 * k[i] + 1) % 4] * x[k[i] // 2]", xk, "x", "f64 = sum(");
  check(inputs + "let q[i] = k[i] + 1\nout y = pad(x, 0: (1, 1), edge)[q[i]]^2", xk, "x",
        "f64 = sum(");
  check(inputs + e + "let q = k[i] // 2\nout d = 3 * sum(e * e, like=x[q[i]])", xke, "e", "f64 = ");
  check(inputs + e + "let q = k[i] % 3\nlet h = sum(e^2, like=x[q[i]])\nout y = h[q[i]] * e[i]",
        xke, "e", "f64 = ");
  check(inputs + "let h = x[(k[i] + 2) % 4]^2\nout y = h[p + 1] * h[p]", xk, "x", "f64 = sum(");
  check(inputs + "let q = k[k[i]] % 4\nlet s[t] = 0.5 * s[t - 1] + x[q[t]]^2\nout y[t] = s", xk,
        "x", "f64 = sum(");
  check(inputs + "let q[t < 5] = (3 * q[t - 1] + 1) % 4\nlet s[t] = 0.5 * s[t - 1] + x[q[t]]^2\n"
                 "out y[t] = s + 0 * sum(x[k[i]], i)",
        xk, "x", "f64 = sum(");
}

TEST_CASE("through other windows an index goes along") {
  check("in x : f64[:]\nin k : i32[:]\nin w : f64[:]\nout y = sum(x[k[i]] * w[i + 2*u], i)",
        {{"x", {4}}, {"k", {5}}, {"w", {9}}}, "w", "f64 = sum(d_y * x[k[i]], like=w[i + 2*u])");
}

TEST_CASE("a window of a padded input sends back to the elements, however they are repeated around "
          "them") {
  const std::string inputs = "in x : f32[i]\nin k : f32[u]\n";
  for (const std::string mode : {"", ", 2.5", ", edge", ", wrap", ", reflect"}) {
    const std::string one = "pad(x, i: (1, 2)" + mode + ")[i + u]";
    const std::string two = "pad(x, i: (4, 7)" + mode + ")[2*p - u + 2]"; // several periods
    check(inputs + "out y = sum(" + one + " * k, u)", {{"x", {9}}, {"k", {4}}}, "x",
          "f32 = sum(d_y * k, like=" + one + ")");
    check(inputs + "out y = sum(" + two + "^2 * k, u)", {{"x", {3}}, {"k", {3}}}, "x",
          "f32 = sum(d_y * k * (2 * " + two + "), like=" + two + ")");
    check(inputs + "out y = sum(" + two + " * k, u)", {{"x", {1}}, {"k", {3}}}, "x",
          "f32 = sum(d_y * k, like=" + two + ")");
    const std::string flat = "pad(pad(x, 0: (1, 1)" + mode + "), 1: (2, 0), wrap)[i + u, j + v]";
    check("in x : f32[:, :]\nin k : f32[u, v]\nout y = sum(" + flat + "^2 * k, u, v)",
          {{"x", {5, 4}}, {"k", {3, 3}}}, "k", "f32 = reduce(sum, like=k) d_y * ");
    check("in x : f32[:, :]\nin k : f32[u, v]\nout y = sum(" + flat + "^2 * k, u, v)",
          {{"x", {5, 4}}, {"k", {3, 3}}}, "x", "f32 = sum(d_y * k * (2 * ");
    check("in x : f32[:]\nin w : f32[k]\nout y = w * pad(x, 0: (2, 1)" + mode + ")[-1 - k]",
          {{"x", {4}}, {"w", {7}}}, "x",
          "f32 = sum(d_y * w, like=pad(x, 0: (2, 1)" + mode + ")[-k - 1])");
  }
}

TEST_CASE("a sum through a padded window adds to each element what is read of it") {
  const D x{1, 2, 3}, e{1, 10, 100, 1000, 10000, 100000};
  const auto sum = [&](const std::string &mode) {
    const LoopSpec spec = kernel(
        "in x : f64[:]\nin e : f64[i]\nout s = sum(e, like=pad(x, 0: (2, 1)" + mode + ")[i])");
    Array result;
    for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
      const Array now =
          compile(spec, {.engine = engine})
              .call(std::vector<NamedView>{{"x", View<const double>(x.data(), {3})},
                                           {"e", View<const double>(e.data(), {6})}})["s"];
      CHECK((engine == Engine::jit || same_bits(now, result)));
      result = now;
    }
    return values(result);
  };
  CHECK(sum("") == D{100, 1000, 10000});
  CHECK(sum(", 5") == D{100, 1000, 10000});
  CHECK(sum(", edge") == D{111, 1000, 110000});
  CHECK(sum(", wrap") == D{100100, 1001, 10010});
  CHECK(sum(", reflect") == D{100, 101010, 10001});
  // Of one side only, where no position moves, and of what lacks the axis or runs along it.
  const LoopSpec sides =
      kernel("in x : f64[:]\nin e : f64[i]\nout a = sum(e, like=pad(x, 0: (0, 3), wrap)[i])\n"
             "out b = sum(iota(i, of=e), like=pad(x, 0: (3, 0), edge)[i])\n"
             "out c = sum(1, like=pad(x, 0: (0, 3), reflect)[i])\nout d = sum(max(e, i) + 0 * e, "
             "like=pad(x, 0: (1, 2))[i])");
  for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
    const Results results =
        compile(sides, {.engine = engine})
            .call(std::vector<NamedView>{{"x", View<const double>(x.data(), {3})},
                                         {"e", View<const double>(e.data(), {6})}});
    CHECK(values(results["a"]) == D{1001, 10010, 100100});
    const Array b = results["b"].copy(), c = results["c"].copy();
    CHECK(std::vector(b.data<std::int64_t>(), b.data<std::int64_t>() + 3) ==
          std::vector<std::int64_t>{6, 4, 5});
    CHECK(std::vector(c.data<std::int64_t>(), c.data<std::int64_t>() + 3) ==
          std::vector<std::int64_t>{2, 3, 1});
    CHECK(values(results["d"]) == D(3, 100000));
  }
  CHECK(code_of(kernel("in x : f64[:]\nin e : f64[i]\n"
                       "out s = sum(scan(sum, e, i), like=pad(x, 0: (0, 1), wrap)[i])")) ==
        "E0605");
}

TEST_CASE("what a border that is a number takes up has a slope of 0, also where it is infinite") {
  const D x{0, 4, 0, 16, -1}, v{1, 1, 1}, d_s{1, 2, 4};
  for (const char *value : {"sqrt(x)", "1 * sqrt(x) + x"}) {
    const LoopSpec back =
        gradient(kernel(std::string("in x : f64[i]\nin v : f64[:]\nout s = sum(") + value +
                        ", like=pad(v, 0: (1, 1))[i])"),
                 {"x"});
    const double more = value[0] == '1' ? 1 : 0; // the slope of x
    for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
      const Results results =
          compile(back, {.engine = engine})
              .call(std::vector<NamedView>{{"x", View<const double>(x.data(), {5})},
                                           {"v", View<const double>(v.data(), {3})},
                                           {"d_s", View<const double>(d_s.data(), {3})}});
      CHECK(values(results["d_x"]) ==
            D{0, 0.25 + more, std::numeric_limits<double>::infinity(), 0.5 + 4 * more, 0});
    }
  }
}

TEST_CASE("borders of many dims have too many corners to sum over one by one") {
  std::string dims, pads, positions;
  for (int d = 0; d < 7; ++d) {
    const std::string comma = d == 0 ? "" : ", ";
    dims += comma + ":";
    pads += ", " + std::to_string(d) + ": (1, 1)";
    positions += comma + "a" + std::to_string(d);
  }
  const auto code = [&](const std::string &mode) {
    return code_of(kernel("in x : f32[" + dims + "]\nout s = sum(1, like=pad(x" + pads + mode +
                          ")[" + positions + "])"));
  };
  CHECK(code(", edge") == "E0013");
  CHECK(code("") == "");
}

TEST_CASE("a window that bounds an axis is in the text of a gradient that does not read it") {
  const LoopSpec spec =
      parse("kernel k { in x : f64[:]; in z : f64[:]; out y = sum(x[k + 1]^2, k) + "
            "sum(z[k + 0], k) }");
  const double data[6] = {1, 2, 3, 4, 5, 6}, one = 1;
  const std::vector<NamedView> inputs{{"x", View<const double>(data, {6})},
                                      {"z", View<const double>(data, {3})}};
  std::vector<NamedView> with_d = inputs, with_t = inputs;
  with_d.push_back({"d_y", View<const double>(&one, {})});
  with_t.push_back({"t_x", View<const double>(data, {6})});
  const auto numbers = [](const Array &array) {
    return D(array.data<double>(), array.data<double>() + array.size());
  };
  const LoopSpec back = gradient(spec, {"x"}), forward = jvp(spec, {"x"});
  for (const LoopSpec &derived : {back, parse(print(back))})
    CHECK(numbers(compile(derived).call(with_d)["d_x"]) == D{0, 4, 6, 8, 0, 0});
  for (const LoopSpec &derived : {forward, parse(print(forward))})
    CHECK(numbers(compile(derived).call(with_t)["t_y"]) == D{58});
  CHECK(print(back).find("let bound = z[k + 0]") != std::string::npos);
  CHECK(
      print(gradient(parse("kernel k { in x : f64[:]; in z : f64[k]; out y = sum(x[k + 1]^2, k) + "
                           "sum(z[k], k) }"),
                     {"x"}))
          .find("bound") == std::string::npos); // its declaration says it
}

TEST_CASE("the weights of a convolution are laid along what the slope of its input keeps") {
  const LoopSpec spec = kernel("in x : f64[:, :, :]\nin w : f64[u, c, o]\n"
                               "out y[n, i, o] = sum(x[n, i + u, c] * w, u, c)");
  const LoopSpec back = gradient(spec, {"x", "w"});
  CHECK(has(print(back), "let w_by_c[u, o, c] in c = w"));
  CHECK(has(print(back), "sum(d_y * w_by_c[u, o, c], like=x[n, i + u, c])"));
  const Data data(back, {{"x", {2, 7, 3}}, {"w", {3, 3, 5}}, {"d_y", {2, 5, 5}}});
  check_engines(back, data.views);
  const LoopSpec second = gradient(back, {"w", "d_y"});
  const Data more(second, {{"x", {2, 7, 3}},
                           {"w", {3, 3, 5}},
                           {"d_y", {2, 5, 5}},
                           {"d_d_x", {2, 7, 3}},
                           {"d_d_w", {3, 3, 5}}});
  check_engines(second, more.views);

  const auto is_laid = [](const std::string &body) {
    return has(print(gradient(kernel(body), {"x"})), "_by_");
  };
  CHECK_FALSE(is_laid("in x : f64[:, :]\nin w : f64[u, c]\n" // nothing of w is folded but u
                      "out y[i, c] = sum(x[i + u, c] * w, u)"));
  CHECK_FALSE(is_laid("in x : f64[:, :]\nin w : f64[o, u, c]\n" // it lies so
                      "out y[i, o] = sum(x[i + u, c] * w, u, c)"));
  CHECK_FALSE(is_laid("in x : f64[:]\nin w : f64[u, o]\n" // no axis is kept as it is
                      "out y[i, o] = sum(x[i + u] * w, u)"));
}

TEST_CASE(
    "a sum back through a window adds by fma where that is allowed, and nothing that is masked") {
  const std::string body = "in x : f32[:, :]\nin w : f32[u, o, c]\nin d_y : f32[i, o]\n"
                           "out d_x = sum(d_y * w, acc=f32, like=x[i + u, c])";
  const LoopSpec spec = kernel("set relaxed = on\n" + body);
  CHECK(has(compile(spec).show(Stage::graph), "fold dot"));
  const Data data(spec, {{"x", {21, 3}}, {"w", {3, 40, 3}}, {"d_y", {19, 40}}});
  check_engines(spec, data.views);
  // The first position reads no weights but those of u = 0.
  for (const NamedView &view : data.views)
    if (view.name == "w") {
      float *w = static_cast<float *>(const_cast<void *>(view.view.data));
      for (int k = 40 * 3; k < 3 * 40 * 3; ++k) w[k] = std::numeric_limits<float>::infinity();
    }
  const Results results = compile(spec).call(data.views);
  for (int c = 0; c < 3; ++c) {
    CHECK(std::isfinite(results["d_x"].data<float>()[c]));
    CHECK_FALSE(std::isfinite(results["d_x"].data<float>()[3 + c]));
  }
}
