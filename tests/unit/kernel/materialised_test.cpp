// Lets that are arrays: read at positions, or declared with their dims. Each engine must have the
// bits of the reference.
#include "all_engines.hpp"
#include "spec/materialise.hpp"
#include "support/lifetimes.hpp"

#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace broadloom;
using tests::code_of;
using tests::first_numbers;
using tests::results;
using tests::shape_of;
using tests::values;

namespace {

using D = std::vector<double>;
using Shape = std::vector<std::int64_t>;

} // namespace

TEST_SUITE_BEGIN("materialised lets");

TEST_CASE("a let that is read at positions is what it is elsewhere, at those positions") {
  const D x = first_numbers(6); // squares 1 4 9 16 25 36
  const View<const double> view(x.data(), {6});
  CHECK(values(results("in x : f64[:]\nlet q = x[i] * x[i]\nout y = q[i + 2] - q[i]",
                       {{"x", view}})["y"]) == D{8, 12, 16, 20});
  CHECK(values(results("in x : f64[:]\nlet q = x * x\nout y = q[-i]", {{"x", view}})["y"]) ==
        D{36, 25, 16, 9, 4, 1});
  CHECK(values(results("in x : f64[:]\nlet q = x * x\nout y = q[3]", {{"x", view}})["y"]) == D{16});
}

TEST_CASE("lets solve the extents of their windows by themselves") {
  const D x = first_numbers(6);
  const Results r = results("in x : f64[:]\nlet a = x[i + 1] * x[i]\nlet b = a[i + 1] - a[i]\n"
                            "out y = b[i + 1] + b[i]\nout n = extent(i, of=b[i])",
                            {{"x", View<const double>(x.data(), {6})}});
  CHECK(values(r["y"]) == D{4 + 6, 6 + 8, 8 + 10}); // a: 2 6 12 20 30; b: 4 6 8 10
  CHECK(*r["n"].data<std::int64_t>() == 3);
}

TEST_CASE("a let read as it is, beside positions of it, is the same array") {
  const D x = first_numbers(5);
  const Results r = results("in x : f64[:]\nlet d = x[i + 1] - x[i]\nout y = d[i + 1] + 10 * d",
                            {{"x", View<const double>(x.data(), {5})}});
  CHECK(values(r["y"]) == D{11, 11, 11});
}

TEST_CASE("dims that are listed are those of the array, in that order") {
  const D x = first_numbers(6);
  const View<const double> view(x.data(), {2, 3}); // 1 2 3 / 4 5 6
  const Results r =
      results("in x : f64[i, j]\nlet t[j, i] = x + 0.5\nout y = t[2 - p, q]", {{"x", view}});
  CHECK(shape_of(r["y"]) == Shape{3, 2});
  CHECK(values(r["y"]) == D{3.5, 6.5, 2.5, 5.5, 1.5, 4.5});
  // Without positions, too.
  CHECK(values(results("in x : f64[i, j]\nlet t[j, i] = 2 * x\nout y[i] = reduce(sum) t",
                       {{"x", view}})["y"]) == D{12, 30});
  // Of another let and of an input, too, whose dims come in another order.
  for (const char *of : {"let a = 2 * x\nlet t[j, i] = a\n", "let t[j, i] = x\n"})
    CHECK(values(results(std::string("in x : f64[i, j]\n") + of + "out y = t[2, q]",
                         {{"x", view}})["y"]) == (of[4] == 'a' ? D{6, 12} : D{3, 6}));
  CHECK(code_of("in x : f64[i, j]\nlet t[j] = 2 * x\nout y = t[p]") == "E0106");
  CHECK(code_of("in x : f64[i, j]\nlet t[j, j] = 2 * x\nout y = t[p, q]") == "E0106");
  CHECK(code_of("in x : f64[i, j]\nlet t = 2 * x\nout y = t[p]") == "E0140");
  CHECK(code_of("in x : f64\nlet t = 2 * x\nout y = t[p]") == "E0140");
}

TEST_CASE("f16 is rounded in the array, as in an output") {
  const std::vector<float16> x{float16(1.0f), float16(2049.0f / 2048)};
  const LoopSpec spec = parse("kernel k { in x : f16[:]; let q = x[i] * x[i]\nout y = f32(q[i]) }");
  const Results r = compile(spec)({{"x", View<const float16>(x.data(), {2})}});
  const float square = float(x[1]) * float(x[1]);
  CHECK(r["y"].data<float>()[1] == float(float16(square)));
}

TEST_CASE("a chain of layers has the values of loops by hand") {
  constexpr int n = 9, u = 3;
  const D x = first_numbers(n), w{1, -2, 3};
  D h(n - u + 1), y(n - 2 * u + 2);
  for (std::size_t i = 0; i < h.size(); ++i)
    for (std::size_t k = 0; k < u; ++k) h[i] += x[i + k] * w[k];
  for (std::size_t i = 0; i < y.size(); ++i)
    for (std::size_t k = 0; k < u; ++k) y[i] += h[i + k] * w[k];
  const Results r =
      results("in x : f64[:]\nin w : f64[u]\nlet h = sum(x[i + u] * w, u)\n"
              "out y = sum(h[i + u] * w, u)",
              {{"x", View<const double>(x.data(), {n})}, {"w", View<const double>(w.data(), {u})}});
  CHECK(values(r["y"]) == y);
}

TEST_CASE("calls by position, bound, prepared and inferred know the arrays") {
  const D x = first_numbers(8);
  const View<const double> view(x.data(), {8});
  const Kernel k = compile(parse("kernel k { in x : f64[:]; let d = x[i + 1] * x[i]\n"
                                 "out y = d[i + 1] - d[i]; out z = x }"));
  REQUIRE(k.inputs().size() == 1);
  CHECK(k.infer({AnyView(view)})[0].shape == Shape{6});
  k.prepare({AnyView(view)});
  D y(6), z(8), changed(x);
  k.run({view}, {View<double>(y.data(), {6}), View<double>(z.data(), {8})});
  CHECK(y == D{4, 6, 8, 10, 12, 14});
  const BoundCall bound = k.bind({View<const double>(changed.data(), {8})},
                                 {View<double>(y.data(), {6}), View<double>(z.data(), {8})});
  for (double &v : changed) v = -v;
  changed[0] = 0;
  bound();
  CHECK(y == D{6, 6, 8, 10, 12, 14});
  CHECK(z == changed);
  CHECK_THROWS_AS(k.run({view, view}, {View<double>(y.data(), {6})}), DataError);
}

TEST_CASE("an output that does not need an array is had without it") {
  const D x = first_numbers(4);
  const Kernel k = compile(parse("kernel k { in x : f64[:]; let d = x[i + 1] / x[i]\n"
                                 "out y = d[i + 1]; out z = x + 1 }"));
  D z(4);
  k.run({{"x", View<const double>(x.data(), {4})}}, {{"z", View<double>(z.data(), {4})}});
  CHECK(z == D{2, 3, 4, 5});
  CHECK(k.counters().compiles + k.counters().loaded <= 1);
}

TEST_CASE("an output that lies on the input of a let is as if the input had been copied") {
  D x = first_numbers(6);
  const Kernel k = compile(parse("kernel k { in x : f64[:]; let d = x[i + 1] + x[i]\n"
                                 "out y = d[i + 1] + d[i] }"));
  k.run({{"x", View<const double>(x.data(), {6})}}, {{"y", View<double>(x.data() + 1, {4})}});
  CHECK(x == D{1, 8, 12, 16, 20, 6});
}

TEST_CASE("many threads share a kernel with arrays") {
  const Kernel k = compile(parse("kernel k { in x : f64[:]; let d = x[i + 1] * x[i]\n"
                                 "out y = d[i + 1] - d[i] }"));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        const std::size_t n = 20 + std::size_t(round) % 3 + t;
        const D x = first_numbers(n);
        const Results r = k({{"x", View<const double>(x.data(), {std::int64_t(n)})}});
        const D y = values(r["y"]);
        for (std::size_t i = 0; i < y.size(); ++i) wrong[t] += y[i] != 2 * double(i + 2);
      }
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(std::accumulate(wrong.begin(), wrong.end(), 0) == 0);
}

TEST_CASE("the C++ API makes the kernel that the text makes") {
  const auto x = input("x", f64, {":"});
  const auto i = axis("i");
  const Expr h = let("h", {"i"}, x.at({i + 1}) - x.at({i}));
  const LoopSpec spec = LoopSpec("k").out("y", h.at({i + 1}) - h.at({i}));
  CHECK(print(spec) == "kernel k {\n  in  x : f64[:]\n  let h[i] = x[i + 1] - x[i]\n"
                       "  out y = h[i + 1] - h[i]\n}\n");
  const D data{0, 1, 4, 9, 16};
  CHECK(values(compile(spec)({{"x", View<const double>(data.data(), {5})}})["y"]) == D{2, 2, 2});
}

TEST_CASE("what is decided about arrays is told") {
  const Kernel k = compile(parse("kernel k { in x : f64[:]; let d = x[i + 1] * x[i]\n"
                                 "out y = d[i + 1] - d[i] }"));
  const std::vector<Decision> why = k.why();
  CHECK(std::count_if(why.begin(), why.end(),
                      [](const Decision &d) { return d.code == "let-is-array"; }) == 1);
  const std::string loops = k.show(Stage::loop);
  CHECK(loops.find("# let d\n") != std::string::npos);
  CHECK(loops.find("# kernel k\n") != std::string::npos);
}

TEST_CASE("arrays share memory that never live at once") {
  using support::Lifetime;
  const std::vector<Lifetime> chain{{100, 0, 1}, {100, 1, 2}, {64, 2, 3}, {200, 3, 4}};
  const support::Places places = support::places_of(chain);
  CHECK(places.starts == std::vector<std::int64_t>{0, 128, 0, 64});
  CHECK(places.bytes == 320);
  const std::vector<Lifetime> together{{1, 0, 5}, {1, 1, 5}, {65, 2, 5}};
  CHECK(support::places_of(together).starts == std::vector<std::int64_t>{0, 64, 128});
  const std::vector<Lifetime> huge{{INT64_MAX / 2, 0, 5}, {INT64_MAX / 2 + 100, 1, 5}};
  CHECK_THROWS_AS(support::places_of(huge), DataError);
}

TEST_CASE("gradients go through arrays, and so do gradients of these") {
  const std::vector<std::string> bodies{
      "in x : f64[:]\nlet d = x[i + 1] - x[i]\nout y = d[i + 1] * d[i]",
      "in x : f64[:]\nlet q = exp(0.1 * x[i]) * x[i]\nout y = q[i + 2] - q[i] + q * q",
      "in x : f64[:]\nlet h = x[i] * x[-i]\nout y = h[-i] * x[i]",
      "in x : f64[:]\nlet h = sin(x[i])\nlet g = h[2*i + 1] * h[2*i]\nout y = sum(g[i] * h[i], i)",
      "in x : f64[i]\nlet h[i] = sin(x)\nlet g = h[p] * h[q]\nout y = sum(g[q, p] * g, q)"};
  D x = first_numbers(7);
  for (double &v : x) v = std::sin(2.7 * v) + 0.3;
  const std::vector<NamedView> views{{"x", View<const double>(x.data(), {7})}};
  for (const std::string &body : bodies) {
    INFO(body);
    const LoopSpec spec = parse("kernel k {\n" + body + "\n}");
    for (const SlopeCheck &slope : check_gradient(spec, views).slopes)
      CHECK(slope.slope == Slope::agrees);
    const LoopSpec grad = gradient(spec, {"x"});
    CHECK(print(parse(print(grad))) == print(grad));
    const Shape shape = compile(spec).infer_named(views)[0].shape;
    Array seed(f64, shape);
    for (std::int64_t k = 0; k < seed.size(); ++k) seed.data<double>()[k] = 1 + 0.1 * double(k);
    std::vector<NamedView> second = views;
    second.push_back({"d_y", seed});
    for (const SlopeCheck &slope : check_gradient(grad, second).slopes)
      CHECK(slope.slope == Slope::agrees);
  }
}

TEST_CASE("the gradient of a let keeps what flows into it as an array") {
  CHECK(print(gradient(parse("kernel k { in x : f64[:]; let d = x[i + 1] - x[i]\n"
                             "out y = d[i + 1] - d[i] }"),
                       {"x"})) == R"(kernel k_grad {
  in  x : f64[:]
  in  d_y : f64[y_0]
  let d = x[i + 1] - x[i]
  let d_d = sum(d_y, like=d[y_0 + 1]) + sum(-d_y, like=d[y_0])
  out d_x : f64 = sum(d_d[d_0], like=x[d_0 + 1]) + sum(-d_d[d_0], like=x[d_0])
}
)");
}

TEST_CASE("the gradient by a let is no gradient, and one without names of axes is told") {
  const LoopSpec spec = parse("kernel k { in x : f64[:]; let d = x * x\nout y = d[i + 1] }");
  const auto code = [&](const std::string &name, const GradientOptions &options = {}) {
    try {
      gradient(spec, {name}, options);
    } catch (const SpecError &error) {
      return error.code();
    }
    return std::string("none");
  };
  CHECK(code("d") == "E0003");
  CHECK(code("q") == "E0003");
  CHECK(code("x") == "E0607");
  CHECK(code("x", {.policy = Policy::save}) == "E0607");
}

TEST_SUITE_END();
