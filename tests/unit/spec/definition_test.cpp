// Definitions, options and scans as data: the C++ API, the canonical text, recipes.
#include "analysis/analyse.hpp"
#include "expr/definition.hpp"
#include "spec/definition.hpp"
#include "spec/spec.hpp"
#include "text/print_typed.hpp"
#include "type/definition.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

namespace bl = broadloom;

namespace {

std::string stable(const bl::LoopSpec &spec) {
  std::string text = bl::print(spec);
  CHECK(bl::print(bl::parse(text)) == text);
  return text;
}

std::string code_of(const bl::LoopSpec &spec) {
  try {
    bl::check(spec);
  } catch (const bl::Error &error) {
    CHECK(error.where().known());
    return error.code();
  }
  return {};
}

const bl::Expr a = bl::parameter("a"), m = bl::parameter("m");

bl::Accumulator damped() {
  return bl::accumulator("damped", {"a"}, {"m"}).init("a", 0).step("a", 0.5 * a + m);
}

bl::ops::Recipe recipe(const std::string &definition, std::vector<bl::DType> args) {
  const bl::LoopSpec spec = bl::parse(definition + "\nkernel k { in x : f64[i]; out z = r(x) }");
  const bl::Expr &value = spec.data().outputs[0].value;
  return bl::type::recipe_of(*value.node()->use->accumulator.definition(), args, nullptr);
}

} // namespace

TEST_CASE("options and definitions built in C++ print as text and read back") {
  const auto x = bl::input("x", bl::f32, {"i", "j"}), y = bl::input("y", bl::f32, {"i"});
  const auto s = bl::parameter("s"), n = bl::parameter("n"), w = bl::parameter("w");
  const auto weighted = bl::accumulator("weighted", {"s", "n"}, {"m", "w"})
                            .init("s", 0.0)
                            .init("n", -0.5)
                            .step("s", s + m * w)
                            .step("n", n + w)
                            .combine("s", s + bl::parameter("s_other"))
                            .combine("n", n + bl::parameter("n_other"))
                            .result(s / n);
  const auto spec = bl::LoopSpec("k")
                        .out("a", bl::var(x, "j", bl::correction(1)))
                        .out("b", bl::max(x, "j", bl::init(y)))
                        .out("c", bl::sum(x, bl::acc(bl::f32)))
                        .out("d", bl::reduce(bl::var, bl::correction(1.5)), {"i"}, x)
                        .out("e", bl::accumulate(damped(), bl::init(2)), {"i"}, x * y)
                        .out("f", weighted({x, y}, "i", bl::init({0.5, 2})))
                        .out("g", bl::sum(x, bl::like("y"), bl::init(1)));
  CHECK(code_of(spec) == "");
  CHECK(stable(spec) == R"(accumulator damped(a; m) {
  init a = 0
  step a = 0.5 * a + m
}
accumulator weighted(s, n; m, w) {
  init s = 0., n = -0.5
  step s = s + m * w, n = n + w
  combine s = s + s_other, n = n + n_other
  result s / n
}
kernel k {
  in  x : f32[i, j]
  in  y : f32[i]
  out a = var(x, j, correction=1)
  out b = max(x, j, init=y)
  out c = sum(x, acc=f32)
  out d[i] = reduce(var, correction=1.5) x
  out e[i] = accumulate(damped, init=2) x * y
  out f = weighted((x, y), i, init=(0.5, 2))
  out g = sum(x, like=y, init=1)
}
)");
}

TEST_CASE("scans built in C++ print as text and read back") {
  const auto x = bl::input("x", bl::f32, {"i", "j"}), y = bl::input("y", bl::f32, {"i"});
  const auto spec = bl::LoopSpec("k")
                        .out("a", bl::scan(bl::sum, x, "j"))
                        .out("b", bl::scan(bl::argmax, x, "j", bl::reverse, bl::state("v")))
                        .out("c", bl::scan(bl::max, x, 1, bl::exclusive, bl::init(y)))
                        .out("d", bl::scan(damped(), x, "i", bl::acc(bl::f32)));
  CHECK(code_of(spec) == "");
  CHECK(stable(spec).find("  out a = scan(sum, x, j)\n"
                          "  out b = scan(argmax, x, j, reverse, state=v)\n"
                          "  out c = scan(max, x, 1, exclusive, init=y)\n"
                          "  out d = scan(damped, x, i, acc=f32)\n") != std::string::npos);
}

TEST_CASE("a number of a definition prints as one, whatever the kernel calls so") {
  const auto inf = bl::input("inf", bl::f64, {"i"});
  const auto low = bl::accumulator("low", {"a"}, {"m"})
                       .init("a", -1 / 0.)
                       .step("a", bl::where(m < 1 / 0., m, a));
  const std::string text = stable(bl::LoopSpec("k").out("z", low(inf, "i") + 1 / 0.));
  CHECK(text.find("init a = -inf\n  step a = where(m < inf, m, a)\n") != std::string::npos);
  CHECK(text.find("out z = low(inf, i) + 1. / 0.\n") != std::string::npos);
}

TEST_CASE("mistakes in definitions built in C++ are told with the user's own line") {
  const auto x = bl::input("x", bl::f64, {"i"});
  auto code = [&](const bl::Accumulator &accumulator) {
    return code_of(bl::LoopSpec("k").out("z", accumulator(x, "i")));
  };
  CHECK(code(damped()) == "");
  CHECK(code(bl::accumulator("d", {"a"}, {"m"}).init("a", 0)) == "E0020");
  CHECK(code(bl::accumulator("d", {"a"}, {"m"}).init("a", m).step("a", a + m)) == "E0020");
  CHECK(code(bl::accumulator("d", {"a"}, {"m"}).init("a", 0).step("a", a + x)) == "E0020");
  CHECK(code(bl::accumulator("d", {"a"}, {"m"}).init("a", 0).step("a", a + bl::Expr())) == "E0020");
  CHECK(code(bl::accumulator("d", {"a"}, {"m"}).init("a", 0).step("a", bl::sum(m))) == "E0020");
  CHECK(code(bl::accumulator("d", {}, {"m"})) == "E0020");
  CHECK(code(bl::accumulator("let", {"a"}, {"m"})) == "E0005");
  CHECK(code(bl::accumulator("exp", {"a"}, {"m"})) == "E0004");
  CHECK(code(damped().step("a", a)) == "E0020");
  CHECK(code(damped().combine("a", a + m)) == "E0003");
  CHECK(code(damped().result(m)) == "E0003");
  CHECK_THROWS_AS(bl::sum.init("a", 0), bl::SpecError);
  CHECK(code_of(bl::LoopSpec("k").out("z", x + m)) == "E0003");
  const auto other = damped().result(2 * a);
  CHECK(code_of(bl::LoopSpec("k").out("z", damped()(x, "i") + other(x, "i"))) == "E0004");
}

TEST_CASE("a clause may not grow beyond its limit by sharing") {
  bl::Expr big = a + m;
  for (int k = 0; k < 60; ++k) big = big * big;
  const auto x = bl::input("x", bl::f64, {"i"});
  const auto huge = bl::accumulator("huge", {"a"}, {"m"}).init("a", 0).step("a", big);
  CHECK(code_of(bl::LoopSpec("k").out("z", huge(x, "i"))) == "E0013");
}

TEST_CASE("a reduction of a deep expression and deeply nested reductions keep to the stack") {
  std::string nested = "x", scans = "x";
  for (int k = 0; k < 20'000; ++k) nested = "max(" + nested + " + x, init=0)";
  for (int k = 0; k < 20'000; ++k) scans = "scan(max, (" + scans + "), i, init=max(x))";
  for (const std::string &text : {nested, scans}) {
    const bl::LoopSpec spec = bl::parse("kernel k { in x : f64[i]; out z = " + text + " }");
    CHECK(code_of(spec) == "");
    stable(spec);
  }
}

TEST_CASE("the types of states go round until nothing grows") {
  using enum bl::DType;
  CHECK(recipe("accumulator r(n; x) { init n = 0; step n = n + 1 }", {F32}).states[0] == I64);
  CHECK(recipe("accumulator r(n; x) { init n = 0.; step n = n + 1 }", {F32}).states[0] == F64);
  CHECK(recipe("accumulator r(n; x) { init n = 0; step n = n + x }", {F32}).states[0] == F32);
  CHECK(recipe("accumulator r(n; x) { init n = 0; step n = n / 2 + x }", {I64}).states[0] == F64);
  CHECK(recipe("accumulator r(b; x) { init b = true; step b = b && x }", {I64}).states[0] == Bool);
  CHECK(recipe("accumulator r(b; x) { init b = false; step b = b + 1 }", {F32}).states[0] == I64);
  const auto chain = recipe("accumulator r(a, b, c; x) { init a = 0, b = 0, c = 0\n"
                            "step a = b, b = c + 1, c = x }",
                            {F32});
  CHECK(chain.states == std::vector{F32, F32, F32});
  const auto most = recipe("accumulator r(m; x) { init m = -3; step m = maximum(m, x) }", {I16});
  CHECK(bl::ops::as_i64(most.start[0]) == -3);
  CHECK(most.combine.results.empty());
}

TEST_CASE("the graph shows what an accumulator is made of") {
  const bl::LoopSpec spec = bl::parse(
      "accumulator r(a; m) { init a = 0; step a = 0.5 * a + m; combine a = a + a_other }\n"
      "kernel k { in x : f64[i]; out z = r(x); out y = scan(r, x, i, reverse) }");
  CHECK(bl::text::print_graph(bl::analysis::analyse(spec.data())) == R"(accumulator r
  init
    s0 = 0 : f64
  step
    v0 = literal 0.5 : f64
    v1 = mul v0 s0 : f64
    v2 = add v1 x0 : f64
    s0 <- v2
  combine
    v0 = add s0 x0 : f64
    s0 <- v0
n0 = input 0 x : f64 {i}
n1 = fold r n0 over {i} : f64 {}
n2 = scan r n0 reverse along {i} : f64 {i}
out z[] : f64 = n1
out y[i] : f64 = n2
)");
}

TEST_CASE("equal parts of a clause are computed once") {
  const auto twice = recipe("accumulator r(a, b; x) { init a = 0., b = 0.\n"
                            "step a = a + exp(x), b = b * exp(x) }",
                            {bl::f64});
  CHECK(twice.step.lines.size() == 3);
  CHECK(twice.step.results.size() == 2);
}

TEST_CASE("the accumulators of the language are right by their own rules") {
  for (const bl::Fold fold :
       {bl::Fold::Var, bl::Fold::LogSumExp, bl::Fold::ArgMin, bl::Fold::ArgMax}) {
    const bl::AccumulatorDef &definition = bl::spec::prelude(fold);
    CHECK(definition.name == bl::ops::info(fold).name);
    CHECK(definition.combine.size() == definition.states.size());
    const bool any_type = fold == bl::Fold::ArgMin || fold == bl::Fold::ArgMax;
    for (const bl::DType type : {bl::f32, bl::f64, bl::i8, bl::u64, bl::bool_}) {
      if (!any_type && !is_float(type)) continue;
      std::vector<bl::DType> args(definition.args.size(), bl::i64);
      args[0] = type;
      CHECK_FALSE(bl::type::recipe_of(definition, args, nullptr).combine.results.empty());
    }
  }
}

TEST_CASE("clauses may stand on one line or on several") {
  const char *forms[] = {
      "accumulator r(a; m) { init a = 0; step a = 0.5 * a + m; }",
      "accumulator r(a; m) { init a = 0 step a = 0.5 * a + m }",
      "accumulator r(a; m)\n\n{\n\n init a = 0 # a comment\n\n step a = 0.5 *\n a + m\n;;\n}",
      "accumulator r(a;\n m) { init a =\t0\n step a = (0.5\n * a) + m }",
  };
  for (const char *form : forms)
    CHECK(recipe(form, {bl::f64}).step == recipe(forms[0], {bl::f64}).step);
}

TEST_CASE("a definition may call functions, which mean their bodies there too") {
  const auto graph = [](const std::string &text) {
    return bl::text::print_graph(bl::analysis::analyse(bl::parse(text).data()));
  };
  const std::string functions = "def blend(a, b, w) = a * w + b * (1 - w)\n"
                                "def half(a, b) = blend(a, b, 0.5)\n";
  const std::string called = "accumulator smooth(s, n; m) {\n"
                             "  init s = 0., n = 0\n"
                             "  step s = half(s, m), n = n + 1\n"
                             "  result half(s, s * 2)\n"
                             "}\n";
  const std::string written = "accumulator smooth(s, n; m) {\n"
                              "  init s = 0., n = 0\n"
                              "  step s = s * 0.5 + m * (1 - 0.5), n = n + 1\n"
                              "  result s * 0.5 + s * 2 * (1 - 0.5)\n"
                              "}\n";
  for (const std::string use :
       {"out z = smooth(x, j)", "out z = scan(smooth, x, j)",
        "in y : f32[i]; out z = accumulate(smooth) x * y", "out z[i] = reduce(smooth) x"}) {
    const std::string kernel = "kernel k { in x : f32[i, j]; " + use + " }";
    CHECK(graph(functions + called + kernel) == graph(written + kernel));
    const std::string text = stable(bl::parse(functions + called + kernel));
    CHECK(text.starts_with(functions + called + "kernel k {\n"));
  }
  const std::string joined = "def add(a, b) = a + b\n"
                             "accumulator total(s; m) { init s = 0; step s = add(s, m)\n"
                             "  combine s = add(s, s_other) }\n"
                             "def of_rows(a) = total(a, j)\n"
                             "kernel k { in x : f32[i, j]; out z = of_rows(x) }";
  CHECK(
      stable(bl::parse(joined)).starts_with("def add(a, b) = a + b\naccumulator total(s; m) {\n"));
  CHECK(graph(joined) == graph("accumulator total(s; m) { init s = 0; step s = s + m\n"
                               "  combine s = s + s_other }\n"
                               "kernel k { in x : f32[i, j]; out z = total(x, j) }"));
}

TEST_CASE("functions called in a definition built in C++ print with it") {
  const auto f = bl::function("damped", {"a"}, [](bl::Expr v) { return (v + 1) * (v + 1); });
  const auto acc = bl::accumulator("damped", {"a"}, {"m"}).init("a", 0).step("a", f(a) + m);
  const auto spec = bl::LoopSpec("k").out("z", acc(bl::input("x", bl::f64, {"i"}), "i"));
  CHECK(code_of(spec) == "");
  CHECK(stable(spec).starts_with("def damped_2(a) = (a + 1) * (a + 1)\naccumulator damped(a; m) {\n"
                                 "  init a = 0\n  step a = damped_2(a) + m\n}\n"));
}

TEST_CASE("what a definition calls counts as what it stands for") {
  const auto code = [](const std::string &text) -> std::string {
    try {
      bl::parse(text + "\nkernel k { in x : f64[i]; out z = r(x, i) }");
    } catch (const bl::Error &error) {
      return error.code();
    }
    return {};
  };
  CHECK(code("def f(a) = sum(a)\naccumulator r(s; m) { init s = 0; step s = s + f(m) }") ==
        "E0020");
  CHECK(code("accumulator r(s; m) { init s = 0; step s = s + r(m) }") == "E0008");
  CHECK(code("accumulator r(s; m) { init s = 0; step s = s + f(m) }\ndef f(a) = a") == "E0008");
  CHECK(code("def f(a) = 1\naccumulator r(s; m) { init s = 0; step s = s + m; result f(s) }") ==
        "E0020");
  std::string doubling = "def f0(a) = a + a\n";
  for (int i = 1; i < 13; ++i)
    doubling += "def f" + std::to_string(i) + "(a) = f" + std::to_string(i - 1) + "(a + a)\n";
  CHECK(code(doubling + "accumulator r(s; m) { init s = 0; step s = s + f12(m) }") == "E0013");
}
