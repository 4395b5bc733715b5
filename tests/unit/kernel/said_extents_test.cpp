// Extents that outputs and lets say, `out y[i < 3] = ..`, and axes that only have to stay inside,
// `x[i + 0]`. Each engine must have the bits of the reference.
#include "all_engines.hpp"

#include <limits>
#include <string>
#include <vector>

using namespace broadloom;
using tests::code_thrown_by;
using tests::first_numbers;
using tests::shape_of;
using tests::values;

namespace {

using D = std::vector<double>;
using Shape = std::vector<std::int64_t>;

const D five = first_numbers(5);
const std::vector<NamedView> x_alone{{"x", View<const double>(five.data(), {5})}};
const std::string declared = "in x : f64[:]\n";

} // namespace

TEST_SUITE_BEGIN("said extents");

TEST_CASE("an output says how long an axis is, by numbers and extents") {
  const Results r = tests::results(declared + "out a[i < 3] = x[i + 0]\n"
                                              "out b[k < 2*extent(x, 0) - 7] = x[k + 1]\n"
                                              "out c[l < 2] = x[2*l] + x[4 - l]",
                                   x_alone);
  CHECK(values(r["a"]) == D{1, 2, 3});
  CHECK(values(r["b"]) == D{2, 3, 4});
  CHECK(values(r["c"]) == D{6, 7});
}

TEST_CASE("axes of which no input has an extent are numbered and repeated") {
  const Results r = tests::results(
      "out a[i < 4] = 1. * iota(i)\nout b[i2 < 2, j < 3] = 10. * iota(i2) + iota(j)\n"
      "out c[k < 3] = 0.5\nout e[l < 3, m < 2] = sum(iota(j), j) + 0.5 * iota(l)",
      {});
  CHECK(values(r["a"]) == D{0, 1, 2, 3});
  CHECK(shape_of(r["b"]) == Shape{2, 3});
  CHECK(values(r["b"]) == D{0, 1, 2, 10, 11, 12});
  CHECK(values(r["c"]) == D{0.5, 0.5, 0.5});
  CHECK(values(r["e"]) == D{3, 3, 3.5, 3.5, 4, 4});
}

TEST_CASE("a value is repeated along an axis whose extent is said") {
  const Results r = tests::results(
      declared + "out a[n < 2, i] = x[i]\nout b[m < 0, i] = x[i] + iota(m)", x_alone);
  CHECK(shape_of(r["a"]) == Shape{2, 5});
  CHECK(values(r["a"]) == D{1, 2, 3, 4, 5, 1, 2, 3, 4, 5});
  CHECK(shape_of(r["b"]) == Shape{0, 5});
}

TEST_CASE("a let says extents too, by those of other lets, and is read like any other") {
  const Results r =
      tests::results(declared + "let h[i < 3] = 2 * x[i + 0]\n"
                                "let g[i < extent(h, 0) + 1] = x[i + 0] + iota(i)\n"
                                "out a = h[i + 1] - h[i]\nout b[j] = g[3 - j]\n"
                                "out c = sum(g[j], j)\nout d[i < extent(g, 0) - 2] = 1.5 * h[i]",
                     x_alone);
  CHECK(values(r["a"]) == D{2, 2});
  CHECK(values(r["b"]) == D{7, 5, 3, 1});
  CHECK(values(r["c"]) == D{16});
  CHECK(values(r["d"]) == D{3, 6});
}

TEST_CASE("an axis to which 0 is added need not be as long as the dim") {
  const D w{1, 10};
  const std::vector<NamedView> inputs{{"x", View<const double>(five.data(), {5})},
                                      {"w", View<const double>(w.data(), {2})}};
  const std::string both = declared + "in w : f64[:]\n";
  CHECK(values(tests::results(both + "out y = x[i + 0] * w[i]", inputs)["y"]) == D{1, 20});
  CHECK(values(tests::results(declared + "in w : f64[i]\nout y = x[i + 0] * w", inputs)["y"]) ==
        D{1, 20});
  CHECK(code_thrown_by([&] { tests::results(both + "out y = x[i] * w[i]", inputs); }) == "E0102");
  CHECK(values(tests::results(both + "out y = x[i] * w[i + 0]", inputs)["y"]) == D{1, 20});
  CHECK(values(tests::results(both + "out y = sum(x[i + 0] * w[i], i)", inputs)["y"]) == D{21});
}

TEST_CASE("extents that disagree, are below 0 or leave an array are told") {
  const auto code = [&](const std::string &body) {
    return code_thrown_by([&] { tests::results(declared + body, x_alone); });
  };
  CHECK(code("out a[i < 3] = x[i]") == "E0102");
  CHECK(code("out a[i < 6] = x[i + 0]") == "E0142");
  CHECK(code("out a[i < extent(x, 0) - 6] = x[i + 0]") == "E0144");
  CHECK(code("out a[i < 2] = x[i + 0]\nout b[i < 3] = x[i + 0]") == "E0102");
  CHECK(code("out a[i < extent(x, 1)] = x[i + 0]") == "E0104");
  CHECK(code("let h[i < extent(x, 0) - 9] = x[i + 0]\nout y = sum(h[i], i)") == "E0144");
}

TEST_CASE("a kernel whose extents are said can be inferred, prepared and bound") {
  const Kernel kernel =
      compile(tests::kernel_of("in x : f64[:]\nout y[i < extent(x, 0) - 1] = x[i + 0]"));
  CHECK(kernel.infer_named(x_alone)[0].shape == Shape{4});
  kernel.prepare_named(x_alone);
  D y(4, -1);
  const BoundCall call =
      kernel.bind_named(x_alone, std::vector<NamedView>{{"y", View<double>(y.data(), {4})}});
  call();
  CHECK(y == D{1, 2, 3, 4});
  CHECK_FALSE(kernel.show(Stage::why).empty());
  CHECK_FALSE(kernel.show(Stage::loop).empty());
  D wrong(5);
  CHECK(code_thrown_by([&] {
          kernel.run_named(x_alone, std::vector<NamedView>{{"y", View<double>(wrong.data(), {5})}});
        }) == "E0120");
}

TEST_CASE("gradients and directional derivatives go through what is said") {
  const LoopSpec spec = parse("kernel k { in x : f64[:]\nlet h[i < 3] = x[i + 0] * x[i + 0]\n"
                              "out y[i < extent(h, 0) - 1] = h[i] * x[i + 2]\n"
                              "out z[n < 2] = sum(h[k] * iota(k), k) }");
  const LoopSpec back = gradient(spec, {"x"});
  CHECK(print(parse(print(back))) == print(back));
  const D dy{1, 1}, dz{1, 0};
  const Results r = tests::in_all_engines(back, {{"x", View<const double>(five.data(), {5})},
                                                 {"d_y", View<const double>(dy.data(), {2})},
                                                 {"d_z", View<const double>(dz.data(), {2})}});
  // y = (x0^2 x2, x1^2 x3), z0 = x1^2 + 2 x2^2
  CHECK(values(r["d_x"]) == D{6, 20, 13, 4, 0});
  CHECK(check_gradient(parse("kernel k { in x : f64\nout y[i < 3] = x * x * iota(i) }"),
                       {{"x", View<const double>(five.data() + 1, {})}})
            .passed());
  const LoopSpec forward = jvp(spec, {"x"});
  const D tangent{1, 0, 0, 0, 0};
  const Results t =
      tests::in_all_engines(forward, {{"x", View<const double>(five.data(), {5})},
                                      {"t_x", View<const double>(tangent.data(), {5})}});
  CHECK(values(t["t_y"]) == D{6, 0});
}

TEST_CASE("in C++ extents are said of the output declared last, or of a let") {
  const Expr x = input("x", f64, {":"});
  const Expr h = let("h", {"i"}, 2.0 * x.at({axis("i") + 0}), {.axis = "i", .count = 3});
  const LoopSpec spec = LoopSpec("k")
                            .in(x)
                            .out("y", Mode(), {"i"}, x.at({axis("i") + 0}) + h.at({axis("i")}))
                            .extent("i", extent_of(x, 0) - 3);
  CHECK(print(spec) == "kernel k {\n  in  x : f64[:]\n  let h[i < 3] = 2. * x[i + 0]\n"
                       "  out y[i < extent(x, 0) - 3] = x[i + 0] + h[i]\n}\n");
  CHECK(values(tests::in_all_engines(spec, x_alone)["y"]) == D{3, 6});
  CHECK(code_thrown_by([&] { LoopSpec(spec).extent("j", 2); }) == "E0033");
  CHECK(code_thrown_by([&] { LoopSpec(spec).extent("i", axis("j")); }) == "E0033");
}

TEST_CASE("the extent of an axis is said where it is folded") {
  const D x = first_numbers(12);
  const std::vector<NamedView> in{{"x", View<const double>(x.data(), {4, 3})}};
  const Results r =
      tests::results("in  x : f64[h, w]\nout a[i, j] = max(x[2*i + u, j + v], u < 2, v < 2)\n"
                     "out b[k] = sum(x[k, c] * x[k, c + d], c, d < extent(x, 1) - 1)\n"
                     "out m = sum(x[2*p + u, q], p, q, u < 2)",
                     in);
  CHECK(values(r["a"]) == D{5, 6, 11, 12});
  CHECK(values(r["b"])[0] == 1 * 1 + 2 * 2 + 1 * 2 + 2 * 3);
  CHECK(values(r["m"]) == D{78});
}

TEST_CASE("infinities stay what they are where nothing but the text gives an axis its extent") {
  const double inf = std::numeric_limits<double>::infinity();
  const D x{1, inf, -inf, -inf};
  CHECK(values("in x : f64[n]; out y[i] = max(x[2*i + u], u < 2)",
               {{"x", View<const double>(x.data(), {4})}}) == D{inf, -inf});
}

TEST_CASE("lets, loops and functions of a kernel have the axes that it says") {
  const Results r = tests::results("in  x : f64[:]\naxis u < 2\n"
                                   "let h[n] = sum(x[n + u], u)\n"
                                   "let s[t < 2, n] = s[t - 1, n] + max(x[n + u], u) from 0\n"
                                   "out y[i] = max(h[2*i + u], u)\nout z = sum(s[-1, n], n)",
                                   x_alone);
  CHECK(values(r["y"]) == D{5, 9});
  CHECK(values(r["z"]) == D{2 * (2 + 3 + 4 + 5)});
}

TEST_CASE("a function says extents of axes for each kernel that calls it") {
  const std::string said = "def pair(a) = max(a, u < 2)\ndef pairs(a) = pair(a) + sum(a, u < 2)\n"
                           "kernel k { in x : f64[:]\nout y[i] = pairs(x[2*i + u]) }";
  const LoopSpec spec = parse(said);
  CHECK(print(spec).find("  axis u < 2\n") != std::string::npos);
  CHECK(print(parse(print(spec))) == print(spec));
  CHECK(values(tests::in_all_engines(spec, x_alone)["y"]) == D{2 + 3, 4 + 7});
  CHECK(code_thrown_by([&] {
          parse("def pair(a) = max(a, u < 2)\n"
                "kernel k { in x : f64[:]\nout y[i] = pair(x[i + u]) + sum(x[i + u], u < 3) }");
        }) == "E0033");
}

TEST_CASE("the extent of an axis is said by that of a let") {
  const std::string text = "in  x : f64[:]\nlet h[n] = x[n + 3] * 10\n"
                           "out y[i] = max(x[i + u] * iota(u), u < extent(h, 0))\n"
                           "out z[j] = sum(h[j + v], v < extent(h, 0))";
  const Results r = tests::results(text, x_alone);
  CHECK(values(r["y"]) == D{2, 3, 4, 5});
  CHECK(values(r["z"]) == D{40 + 50});
  const LoopSpec spec = parse("kernel k {" + text + "}");
  CHECK(print(parse(print(spec))) == print(spec));
  const LoopSpec back = gradient(spec, {"x"});
  CHECK(print(parse(print(back))) == print(back));
  CHECK(check_gradient(spec, x_alone).passed());
  // A let that reads one that is as long as it says.
  CHECK(values(tests::results("in  x : f64[:]\nlet a[n] = x[2*n + 1]\naxis u < extent(a, 0)\n"
                              "let b[i] = sum(x[i + u], u)\nout y = b[k] + b[k + 1]",
                              x_alone)["y"]) == D{3 + 5, 5 + 7, 7 + 9});
}

TEST_CASE("gradients go back through what is folded along such an axis") {
  const LoopSpec spec = parse("kernel k { in x : f64[:]\nin w : f64\n"
                              "let h[n] = sum(x[n + v]^2, v < 2) * w\n"
                              "out y[i] = max(h[2*i + u], u < 2)\nout z[j] = sum(h[j + v]^2, v) }");
  const LoopSpec back = gradient(spec, {"x", "w"});
  CHECK(print(parse(print(back))) == print(back));
  const double w = 0.5;
  const std::vector<NamedView> in{{"x", View<const double>(five.data(), {5})},
                                  {"w", View<const double>(&w, {})}};
  CHECK(check_gradient(spec, in).passed());
  const D dy{1, 1}, dz{1, 0, 2};
  std::vector<NamedView> all = in;
  all.push_back({"d_y", View<const double>(dy.data(), {2})});
  all.push_back({"d_z", View<const double>(dz.data(), {3})});
  const Results r = tests::in_all_engines(back, all);
  CHECK(r["d_x"].shape()[0] == 5);
  const D tangent{1, 0, 0, 0, 0};
  std::vector<NamedView> forward = in;
  forward.push_back({"t_x", View<const double>(tangent.data(), {5})});
  CHECK(tests::in_all_engines(jvp(spec, {"x"}), forward)["t_y"].shape()[0] == 2);
}

TEST_CASE("an array that has such an axis must be as long, and so must what is frozen") {
  CHECK(code_thrown_by([] {
          const D w{1, 2, 3};
          const std::vector<NamedView> in{x_alone[0], {"w", View<const double>(w.data(), {3})}};
          compile(parse("kernel k { in x : f64[:]; in w : f64[u]\naxis u < 2\n"
                        "out y = sum(x[i + u] * w, u) }"))
              .call(in);
        }) == "E0102");
  const Kernel kernel = compile(parse("kernel k { in x : f64[:]; param w : f64[:]\n"
                                      "out y = max(x[i + u], u < 2) * sum(w[j + u], u) }"));
  const D w{1, 2, 3};
  const std::vector<NamedView> weights{{"w", View<const double>(w.data(), {3})}};
  std::vector<NamedView> all = x_alone;
  all.push_back(weights[0]);
  CHECK(values(kernel.freeze(weights).call(x_alone)["y"]) == values(kernel.call(all)["y"]));
}

TEST_CASE("in C++ the extent of an axis is said of the kernel") {
  const Expr x = input("x", f64, {":"});
  const LoopSpec spec = LoopSpec("k")
                            .in(x)
                            .axis("u", extent_of(x, 0) - 3)
                            .out("y", Mode(), {"i"}, max(x.at({2 * axis("i") + axis("u")}), "u"));
  CHECK(print(spec) == "kernel k {\n  in  x : f64[:]\n  axis u < extent(x, 0) - 3\n"
                       "  out y[i] = max(x[2*i + u], u)\n}\n");
  CHECK(values(tests::in_all_engines(spec, x_alone)["y"]) == D{2, 4});
  CHECK(code_thrown_by([&] { LoopSpec(spec).axis("u", 2); }) == "E0033");
  CHECK(code_thrown_by([&] { LoopSpec(spec).axis("v", axis("j")); }) == "E0033");
}

TEST_CASE("an axis of a part or of an extent may be called as an input is") {
  const std::vector<double> u{5, 6, 7};
  const std::vector<NamedView> inputs{{"u", View<const double>(u.data(), {3})}};
  const Results got = tests::in_all_engines(
      parse("kernel k { in u : f64[:]; out z[u + 1 < 3] = u[u + 0]; out z[u < 1] = u[u + 2] }"),
      inputs);
  CHECK(values(got["z"]) == D{7, 5, 6});
}

TEST_SUITE_END();
