// Outputs that several statements write parts of, and the joins at positions that these become.
// Each engine must have the bits of the reference.
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

const D one = first_numbers(2), two{10, 20, 30}, six = first_numbers(6);
const std::vector<NamedView> both{{"x", View<const double>(one.data(), {2})},
                                  {"y", View<const double>(two.data(), {3})}};
const std::string declared = "in x : f64[:]\nin y : f64[:]\n";

std::string code(const std::string &body) {
  return code_thrown_by([&] { tests::results(declared + body, both); });
}

} // namespace

TEST_SUITE_BEGIN("output parts");

TEST_CASE("statements write parts of one output, in any order") {
  CHECK(values(tests::results(declared + "out z[i < 2] = x[i + 0]\nout z[i + 2] = 2 * y[i]",
                              both)["z"]) == D{1, 2, 20, 40, 60});
  CHECK(values(tests::results(declared + "out z[i + extent(x, 0)] = y[i]\nout z[i] = x[i]",
                              both)["z"]) == D{1, 2, 10, 20, 30});
  CHECK(values(tests::results(declared + "out w = x[k] + 1\nout z[i] = x[i]\nout w2 = y[l] + 1\n"
                                         "out z[i + 2] = y[i]\n",
                              both)["z"]) == D{1, 2, 10, 20, 30});
}

TEST_CASE("parts may alternate") {
  const Results r =
      tests::results(declared + "out z[2*i + 1] = x[i]\nout z[2*i] = y[i]\n"
                                "out w[3*i, j] = x[i] * y[j]\nout w[3*i + 1, j] = y[j] + x[i]\n"
                                "out w[3*i + 2, j < 3] = x[i]\n",
                     both);
  CHECK(values(r["z"]) == D{10, 1, 20, 2, 30});
  CHECK(shape_of(r["w"]) == Shape{6, 3});
  CHECK(values(r["w"]) == D{10, 20, 30, 11, 21, 31, 1, 1, 1, 20, 40, 60, 12, 22, 32, 2, 2, 2});
}

TEST_CASE("parts of an output with two dims are blocks, and their axes lie where they stand") {
  const std::vector<NamedView> inputs{{"x", View<const double>(six.data(), {2, 3})}};
  const Results r = tests::results("in x : f64[:, :]\n"
                                   "out z[j, i] = x[i, j]\n"
                                   "out z[j, i + extent(x, 0)] = -x[i, j]\n"
                                   "out z[j + 3 < 4, i < 4] = 0.5\n",
                                   inputs);
  CHECK(shape_of(r["z"]) == Shape{4, 4});
  CHECK(values(r["z"]) == D{1, 4, -1, -4, 2, 5, -2, -5, 3, 6, -3, -6, 0.5, 0.5, 0.5, 0.5});
}

TEST_CASE("a let is made up of parts at positions, and is an array like any other") {
  const Results r =
      tests::results(declared + "let z[r] = parts(x[i] at [2*i + 1], y[i] at [2*i])\n"
                                "out a = z[i + 1] - z[i]\n"
                                "let zz[r] = parts(z[i] at [i], z[i] * 2 at [i + extent(z, 0)])\n"
                                "out b = sum(zz[k], k)",
                     both);
  CHECK(values(r["a"]) == D{-9, 19, -18, 28});
  CHECK(values(r["b"]) == D{3 * 63});
}

TEST_CASE("parts that meet, leave a hole, or begin before the first position are told") {
  CHECK(code("out z[i] = x[i]\nout z[i + 1] = y[i]") == "E0145");
  CHECK(code("out z[i] = x[i]\nout z[i + 3] = y[i]") == "E0146");
  CHECK(code("out z[2*i] = y[i]") == "E0146");
  CHECK(code("out z[2*i] = y[i]\nout z[3*i + 1] = x[i]") == "E0145");
  CHECK(code("out z[6*i] = y[i]\nout z[4*i + 3] = x[i]") == "E0146"); // never at one position
  CHECK(code("out z[i - 1] = y[i]\nout z[i + 2] = x[i]") == "E0142");
  CHECK(code("out z[i + 1] = y[i]") == "E0146");
}

TEST_CASE("empty parts are written nowhere") {
  const std::vector<NamedView> inputs{{"x", View<const double>(nullptr, {0})},
                                      {"y", View<const double>(two.data(), {3})}};
  CHECK(values(tests::results(declared + "out z[i] = y[i]\nout z[i + 700] = x[i]", inputs)["z"]) ==
        two);
  const std::vector<NamedView> none{{"x", View<const double>(nullptr, {0})},
                                    {"y", View<const double>(nullptr, {0})}};
  CHECK(shape_of(tests::results(declared + "out z[i] = y[i]\nout z[i + 7] = x[i]", none)["z"]) ==
        Shape{0});
}

TEST_CASE("mistakes in parts are told where they are written") {
  const auto analysed = [](const std::string &body) { return tests::code_of(declared + body); };
  CHECK(analysed("out z[i] = x[i]\nout z[i] = y[i]") == "E0004");
  CHECK(analysed("out z = x\nout z[i + 2] = y[i]") == "E0034");
  CHECK(analysed("out z[i < 2] += x[i]\nout z[i + 2] = y[i]") == "E0034");
  CHECK(analysed("out z[i < 2] = x[i]\nout z[i + 2] += y[i]") == "E0034");
  CHECK(analysed("out z[i < 2] = x[i]\nout z[i + 2] = reduce(sum) y[i]") == "E0034");
  CHECK(analysed("out z[i + j] = x[i] * y[j]") == "E0034");
  CHECK(analysed("out z[i + 0, i + 1] = x[i]") == "E0034");
  CHECK(analysed("out z[2 - i] = x[i]") == "E0034");
  CHECK(analysed("out z[i + 1] = x[i]\nout z[i + 1, j] = x[i] * y[j]") == "E0034");
  CHECK(analysed("out z[i + 1] : f32 = x[i]\nout z[i] : f64 = x[i]") == "E0034");
  CHECK(analysed("out z[i + 1] = x[i]\nout z[i + extent(w, 0)] = x[i]") == "E0003");
  CHECK(analysed("let z[i] = parts(x[i] at [i, j])\nout a = z[i]") == "E0034");
  CHECK(analysed("out z[i + 1] = x[i]\nout z[i] = f32(x[i])") == "E0201");
}

TEST_CASE("a kernel with parts runs again, prepared, bound and in several threads") {
  const Kernel kernel =
      compile(tests::kernel_of(declared + "out z[2*i] = y[i] * 2\nout z[2*i + 1] = x[i]"));
  CHECK(kernel.infer_named(both)[0].shape == Shape{5});
  kernel.prepare_named(both);
  D z(5, -1);
  const BoundCall call =
      kernel.bind_named(both, std::vector<NamedView>{{"z", View<double>(z.data(), {5})}});
  for (int turn = 0; turn < 3; ++turn) {
    std::fill(z.begin(), z.end(), -1);
    call();
    CHECK(z == D{20, 1, 40, 2, 60});
  }
}

TEST_CASE("gradients of parts go to each of them") {
  const LoopSpec spec = parse("kernel k {\n" + declared +
                              "out z[2*i] = y[i] * y[i]\nout z[2*i + 1] = x[i] * y[0]\n}");
  const LoopSpec back = gradient(spec, {"x", "y"});
  CHECK(print(parse(print(back))) == print(back));
  const D dz{1, 2, 3, 4, 5};
  std::vector<NamedView> inputs = both;
  inputs.push_back({"d_z", View<const double>(dz.data(), {5})});
  const Results r = tests::in_all_engines(back, inputs);
  CHECK(values(r["d_x"]) == D{20, 40});
  CHECK(values(r["d_y"]) == D{20 + 2 + 8, 120, 300});
  const LoopSpec forward = jvp(spec, {"x"});
  const D tangent{1, 1};
  std::vector<NamedView> with_tangent = both;
  with_tangent.push_back({"t_x", View<const double>(tangent.data(), {2})});
  CHECK(values(tests::in_all_engines(forward, with_tangent)["t_z"]) == D{0, 10, 0, 10, 0});
}

TEST_CASE("in C++ parts are a let") {
  const Expr x = input("x", f64, {":"}), y = input("y", f64, {":"});
  const Expr z =
      let("z", {"r"}, parts({{x.at({"i"}), {2 * axis("i") + 1}}, {y.at({"i"}), {2 * axis("i")}}}));
  const LoopSpec spec = LoopSpec("k").in(x).in(y).out("a", z.at({"i"}));
  CHECK(print(parse(print(spec))) == print(spec));
  CHECK(values(tests::in_all_engines(spec, both)["a"]) == D{10, 1, 20, 2, 30});
}

TEST_SUITE_END();
