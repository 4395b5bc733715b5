// Joins: `concat` and `stack`, and extents in positions. Each engine must have the bits of the
// reference.
#include "all_engines.hpp"

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

const D one = first_numbers(2), two{10, 20, 30};
const std::vector<NamedView> both{{"x", View<const double>(one.data(), {2})},
                                  {"y", View<const double>(two.data(), {3})}};
const std::string declared = "in x : f64[:]\nin y : f64[:]\n";

} // namespace

TEST_SUITE_BEGIN("joins");

TEST_CASE("a position may hold an extent, which the call knows") {
  const Results r =
      tests::results(declared + "out a = y[i + extent(x, 0)]\nout b = y[extent(y, 0) - 1 - k]\n"
                                "out c = y[2*extent(x, 0) - 2]",
                     both);
  CHECK(values(r["a"]) == D{30});
  CHECK(values(r["b"]) == D{30, 20, 10});
  CHECK(values(r["c"]) == D{30});
  CHECK(code_thrown_by([&] { tests::results(declared + "out a = y[i - extent(x, 0)]", both); }) ==
        "E0142");
  CHECK(code_thrown_by([&] { tests::results(declared + "out a = y[extent(y, 0)]", both); }) ==
        "E0142");
}

TEST_CASE("an input of which only an extent is read needs no axes") {
  const D x = first_numbers(6);
  const Results r = tests::results(
      "in x : f64[:, :]\nin y : f64[:]\nout a = y[i + extent(x, 1)]",
      {{"x", View<const double>(x.data(), {3, 2})}, {"y", View<const double>(two.data(), {3})}});
  CHECK(values(r["a"]) == D{30});
}

TEST_CASE("concat lays arrays of any extents side by side") {
  CHECK(values(tests::results(declared +
                                  "let z[i] = concat(i, x[i], 2 * y[i], x[i] + 0.5)\nout a[i] = z",
                              both)["a"]) == D{1, 2, 20, 40, 60, 1.5, 2.5});
  CHECK(values(tests::results(declared + "out a[i] = concat(i, x[i], y[i])", both)["a"]) ==
        D{1, 2, 10, 20, 30});
}

TEST_CASE("concat along an inner dim, an outer dim and of empty parts") {
  const D x = first_numbers(6), y{-1, -2, -3, -4}, w{0, 0, 0, 0, 0, 0};
  const std::vector<NamedView> inputs{{"x", View<const double>(x.data(), {2, 3})},
                                      {"y", View<const double>(y.data(), {2, 2})}};
  const std::string two_dims = "in x : f64[:, :]\nin y : f64[:, :]\n";
  const Results r = tests::results(two_dims + "out a[i, j] = concat(j, y[i, j], x[i, j])\n"
                                              "out b[j, i] = concat(0, x[i, j], y[i, j])",
                                   inputs);
  CHECK(shape_of(r["a"]) == Shape{2, 5});
  CHECK(values(r["a"]) == D{-1, -2, 1, 2, 3, -3, -4, 4, 5, 6});
  CHECK(shape_of(r["b"]) == Shape{5, 2});
  CHECK(values(r["b"]) == D{1, 4, 2, 5, 3, 6, -1, -3, -2, -4});
  const Results none = tests::results(
      two_dims + "out a[i, j] = concat(j, y[i, j], x[i, j], y[i, j])",
      {{"x", View<const double>(x.data(), {2, 3})}, {"y", View<const double>(w.data(), {2, 0})}});
  CHECK(values(none["a"]) == x);
  CHECK(code_thrown_by([&] {
          tests::results(two_dims + "out a[i, j] = concat(i, y[i, j], x[i, j])", inputs);
        }) == "E0102");
}

TEST_CASE("stack puts arrays along a new dim, first, last or between, and single numbers too") {
  const Results r =
      tests::results("in x : f64[:]\nin y : f64[:]\nout a[k, i] = stack(k, x[i], x[i] * 2, -x[i])\n"
                     "out b[i, k] = stack(k, x[i], x[i] * 2)\n"
                     "out c[k] = stack(k, sum(x[i], i), max(y[i], i))",
                     both);
  CHECK(shape_of(r["a"]) == Shape{3, 2});
  CHECK(values(r["a"]) == D{1, 2, 2, 4, -1, -2});
  CHECK(values(r["b"]) == D{1, 2, 2, 4});
  CHECK(values(r["c"]) == D{3, 30});
}

TEST_CASE("joins are arrays like any other: read at positions, padded, joined again") {
  const Results r =
      tests::results(declared + "let z[i] = concat(i, x[i], y[i])\n"
                                "let w[i] = concat(i, z[i], z[i] + 100, x[i])\n"
                                "out d = z[i + 1] - z[i]\nout e = w[-j]\n"
                                "out p = pad(z, 0: (1, 0), edge)[m]\n"
                                "out s = sum(w[q], q)\nout n = w[extent(z, 0) + extent(x, 0)]",
                     both);
  CHECK(values(r["d"]) == D{1, 8, 10, 10});
  CHECK(values(r["e"]) == D{2, 1, 130, 120, 110, 102, 101, 30, 20, 10, 2, 1});
  CHECK(values(r["p"]) == D{1, 1, 2, 10, 20, 30});
  CHECK(values(r["s"]) == D{63 + 563 + 3});
  CHECK(values(r["n"]) == D{110});
}

TEST_CASE("a let that is an array lies in one join, and is copied into another") {
  const Results r =
      tests::results(declared + "let a[i] = x[i] * 2\nlet z[i] = concat(i, a, a, y[i])\n"
                                "let w[i] = concat(i, a, x[i])\nout p = z[m]\nout q = w[n]\n"
                                "out o = a[l]",
                     both);
  CHECK(values(r["p"]) == D{2, 4, 2, 4, 10, 20, 30});
  CHECK(values(r["q"]) == D{2, 4, 1, 2});
  CHECK(values(r["o"]) == D{2, 4});
}

TEST_CASE("what no wanted output needs is not computed, and bound calls run the parts again") {
  std::vector<double> x = first_numbers(4), out(8);
  const Kernel k = compile(parse("kernel k { in x : f64[:]\nin y : f64[:]\n"
                                 "out z[i] = concat(i, x[i], x[i] * 10)\nout w = y[i] + 1 }"));
  const View<const double> view(x.data(), {4});
  BoundCall call = k.bind({{"x", view}, {"y", view}}, {{"z", View<double>(out.data(), {8})}});
  call();
  CHECK(out == D{1, 2, 3, 4, 10, 20, 30, 40});
  x[0] = 7;
  call();
  CHECK(out[0] == 7);
  CHECK(out[4] == 70);
}

TEST_CASE("joins are built in C++ as in text") {
  const Expr x = input("x", DType::F64, {":"}), y = input("y", DType::F64, {":"});
  const Expr z = let("z", {"i"}, concat("i", {x.at({"i"}), y.at({"i"})}));
  const LoopSpec spec = LoopSpec("k")
                            .in(x)
                            .in(y)
                            .out("a", Mode{}, {"i"}, z)
                            .out("b", y.at({extent_of(x, 0) + axis("j")}));
  CHECK(print(spec) == print(parse("kernel k {\n" + declared +
                                   "let z[i] = concat(i, x[i], y[i])\nout a[i] = z\n"
                                   "out b = y[j + extent(x, 0)]\n}")));
  CHECK(values(tests::in_all_engines(spec, both)["a"]) == D{1, 2, 10, 20, 30});
  CHECK(code_thrown_by([&] { concat("i", {}); }) == "E0009");
  CHECK(code_thrown_by([&] { extent_of(x + y, 0); }) == "E0003");
  CHECK(code_thrown_by([&] { extent_of(x, 1); }) == "E0104");
  CHECK(code_thrown_by([&] { check(LoopSpec("k").out("a", concat("i", {x, y}) + 1)); }) == "E0029");
}

TEST_CASE("gradients of joins go to their parts") {
  for (const char *body :
       {"out a[i] = concat(i, x[i] * x[i], y[i], x[i])",
        "let z[k, i] = stack(k, x[i], x[i] * x[i])\nout a = sum(z[k, i] * z[k, i], i)",
        "let z[i] = concat(i, exp(x[i]), y[i])\nout a = z[i + 1] * z[i]",
        "out a = y[i + extent(x, 0)] * x[0]"}) {
    CAPTURE(body);
    const LoopSpec spec = parse("kernel k {\n" + declared + body + "\n}");
    for (const SlopeCheck &slope : check_gradient(spec, both).slopes)
      CHECK(slope.slope == Slope::agrees);
    const LoopSpec derived = gradient(spec, {"x", "y"});
    CHECK(print(parse(print(derived))) == print(derived));
    const Results results = compile(spec).call(both);
    const Array &out = results["a"];
    D seed(out.size());
    for (std::size_t k = 0; k < seed.size(); ++k) seed[k] = 0.25 * double(k) - 1;
    std::vector<NamedView> second = both;
    second.push_back({"d_a", View<const double>(seed.data(), shape_of(out))});
    tests::in_all_engines(derived, second);
    for (const SlopeCheck &slope : check_gradient(derived, second).slopes) {
      CAPTURE(describe(slope));
      CHECK(slope.slope != Slope::differs);
    }
  }
}

TEST_CASE("forward mode goes through joins, those of parts that stand still too") {
  const LoopSpec spec = parse("kernel k {\n" + declared +
                              "let z[i] = concat(i, x[i] * x[i], y[i], x[i])\n"
                              "let s[k, i] = stack(k, z[i], 2 * z[i])\nout a = s[k, q]\n}");
  const LoopSpec moved = jvp(spec, {"x"});
  CHECK(print(parse(print(moved))) == print(moved));
  const D t{1, 10};
  std::vector<NamedView> inputs = both;
  inputs.push_back({"t_x", View<const double>(t.data(), {2})});
  CHECK(values(tests::in_all_engines(moved, inputs)["t_a"]) ==
        D{2, 40, 0, 0, 0, 1, 10, 4, 80, 0, 0, 0, 2, 20});
}

TEST_CASE("a loop over time is a part of a join by a copy") {
  const Results r = tests::results("in x : f64[:]\nlet h[t] = h[t - 1] + x[t]\n"
                                   "let z[t] = concat(t, h, x[t])\nout a = z[m]\nout b = h[n]",
                                   {both[0]});
  CHECK(values(r["a"]) == D{1, 3, 1, 2});
  CHECK(values(r["b"]) == D{1, 3});
}

TEST_CASE("a long chain of lets by their extents is taken apart without recursion") {
  std::string text = "kernel k {\nin x : f64[:]\nlet a0[i] = x[i]\n";
  for (int k = 1; k < 50000; ++k)
    text +=
        "let a" + std::to_string(k) + "[i] = x[i + extent(a" + std::to_string(k - 1) + ", 0)]\n";
  CHECK(code_thrown_by([&] { parse(text + "out z = = x\n}"); }) ==
        "E0002"); // what was read is let go
}
