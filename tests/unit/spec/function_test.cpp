// `def`: what a function means, how it is written out, and how it survives print and parse.
#include "analysis/analyse.hpp"
#include "expr/function.hpp"
#include "spec/spec.hpp"
#include "text/print_typed.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace broadloom {
namespace {

std::string graph_of(const std::string &text) {
  return text::print_graph(analysis::analyse(parse(text).data()));
}

// Both forms of a kernel, after its definitions, give the same graph.
void check_same(const std::string &definitions, const std::string &called,
                const std::string &written) {
  const std::string before = "kernel k { in x : f32[i, j]; in y : f32[i]; ";
  CHECK(graph_of(definitions + "\n" + before + called + " }") == graph_of(before + written + " }"));
}

std::string code_of(const std::string &text) {
  try {
    check(parse(text));
  } catch (const Error &error) {
    return error.code();
  }
  return {};
}

TEST_CASE("a call means the body with the arguments in the places of the parameters") {
  check_same("def f(a, b) = a * b + a", "out z = f(x, y)", "out z = x * y + x");
  check_same("def f(a) = a + 1", "out z = f(f(x * 2))", "out z = x * 2 + 1 + 1");
  check_same("def f(a) = a - sum(a, j)", "out z = f(x) * f(y * x)",
             "let t = y * x; out z = (x - sum(x, j)) * (t - sum(t, j))");
  check_same("def f(a) = a / 2", "out z = f(sum(exp(x), j))", "out z = sum(exp(x), j) / 2");
  check_same("def f(a) = a ^ 2", "let t = f(x); out z = accumulate(sum) t * y",
             "let t = x ^ 2; out z = accumulate(sum) t * y");
}

TEST_CASE("a function takes numbers as weak as they are, and folds constants") {
  check_same("def f(a, b) = a * b", "out z = x + f(2, 3)", "out z = x + 6");
}

TEST_CASE("arguments hide pi and e, and values of a kernel do not reach into a function") {
  check_same("def f(e) = e * pi", "out z = f(x)", "out z = x * pi");
  CHECK(code_of("def f(a) = a + x\nkernel k { in x : f32; out z = f(x) }") == "E0003");
}

TEST_CASE("a function ends with its line, and a derivative may follow on any") {
  const std::string tail = "\nkernel k { in x : f32; out z = f(x, x) }";
  CHECK(code_of("def f(a, b) = a *\n  b # goes on\n" + tail) == "");
  CHECK(code_of("def f(a, b) = a * b derivative a = b * g derivative b = a * g" + tail) == "");
  CHECK(code_of("def f(a, b) = a * b\n\n  derivative b = a * g;; derivative a = b * g;" + tail) ==
        "");
  CHECK(code_of("def f(a, b) = a * b kernel k { }" + tail) == "E0002");
  CHECK(code_of("def f(a,\n b) = (a\n * b)" + tail) == "");
}

TEST_CASE("print gives the functions that a kernel uses before it, and parse reads them back") {
  const std::string text = "def square_of(a) = a * a\n"
                           "def length(a, b) = sqrt(square_of(a) + square_of(b))\n"
                           "  derivative a = g * a / length_of(a, b)\n"
                           "  derivative b = g * b\n"
                           "kernel k {\n"
                           "  in  x : f32[:]\n"
                           "  out z = length(x, x + 1)\n"
                           "}\n";
  const std::string with_helper = "def length_of(a, b) = hypot(a, b)\ndef unused(a) = -a\n" + text;
  const std::string printed = print(parse(with_helper));
  CHECK(printed == "def square_of(a) = a * a\n"
                   "def length_of(a, b) = hypot(a, b)\n" +
                       text.substr(text.find("def length(")));
  CHECK(print(parse(printed)) == printed);
}

TEST_CASE("C++ functions are those of the text") {
  const Function f = function("f", {"a", "b"}, [](Expr a, Expr b) {
                       return a * exp(b);
                     }).derivative("a", [](Expr, Expr b, Expr g) { return g * exp(b); });
  auto x = input("x", f32, {"i"});
  const std::string text = print(LoopSpec("k").out("z", f(x, 2.0)));
  CHECK(text == "def f(a, b) = a * exp(b)\n"
                "  derivative a = g * exp(b)\n"
                "kernel k {\n"
                "  in  x : f32[i]\n"
                "  out z = f(x, 2.)\n"
                "}\n");
  CHECK(print(parse(text)) == text);
  CHECK(text::print_graph(analysis::analyse(parse(text).data())) ==
        text::print_graph(analysis::analyse(LoopSpec("k").out("z", x * exp(2.0)).data())));
}

TEST_CASE("what a C++ function uses twice becomes a function of its own") {
  const Function f = function("f", {"a", "b"}, [](Expr a, Expr b) {
    Expr t = a * b;
    for (int i = 0; i < 40; ++i) t = t + t;
    return t;
  });
  const LoopSpec spec = LoopSpec("k").out("z", f(input("x", f64, {"i"}), 2));
  const std::string text = print(spec);
  CHECK(text.starts_with("def f_1(a, b) = a * b\ndef f_2(a, b) = f_1(a, b) + f_1(a, b)\n"));
  CHECK(print(parse(text)) == text);
  CHECK(text::print_graph(analysis::analyse(parse(text).data())) ==
        text::print_graph(analysis::analyse(spec.data())));
}

TEST_CASE("two functions of one name are told apart in print") {
  const Function f = function("f", {"a"}, [](Expr a) { return a + 1; });
  const Function other = function("f", {"a"}, [](Expr a) { return a * 2; });
  const std::string text = print(LoopSpec("k").out("z", f(other(input("x", f64, {"i"})))));
  CHECK(text.starts_with("def f(a) = a * 2\ndef f_2(a) = a + 1\n"));
  CHECK(print(parse(text)) == text);
}

TEST_CASE("an argument that a function ignores is an input all the same") {
  const std::string text = "def first(a, b) = a\n"
                           "kernel k { in y : f64; out z = first(3., y) }";
  CHECK(parse(text).data().inputs.size() == 1);
  CHECK(analysis::analyse(parse(text).data()).inputs.size() == 1);
  const Function second = function("second", {"a", "b"}, [](Expr, Expr b) { return b; });
  const Expr x = input("x", f64, {"i"}), y = input("y", f64, {"i"});
  CHECK(analysis::analyse(LoopSpec("k").out("z", second(x, y)).data()).inputs[0].name == "x");
}

TEST_CASE("functions that double what they are given meet a limit, not the end of memory") {
  std::string text = "def h0(a) = a + a\n";
  for (int i = 1; i < 64; ++i) {
    const std::string f = "h" + std::to_string(i - 1);
    text += "def h" + std::to_string(i) + "(a) = " + f + "(a) * " + f + "(a + 1)\n";
  }
  CHECK(code_of(text + "kernel k { in x : f64; out z = h63(x) }") == "E0013");

  text = "def h0(a) = a + a\n"; // the same argument both times: nothing doubles
  for (int i = 1; i < 64; ++i) {
    const std::string f = "h" + std::to_string(i - 1);
    text += "def h" + std::to_string(i) + "(a) = " + f + "(a) * " + f + "(a)\n";
  }
  CHECK(code_of(text + "kernel k { in x : f64; out z = h63(x) }") == "");
}

TEST_CASE("long chains of functions do not overflow the stack") {
  std::string text = "def h0(a) = a\n";
  for (int i = 1; i < 50000; ++i)
    text += "def h" + std::to_string(i) + "(a) = h" + std::to_string(i - 1) + "(a) + 1\n";
  text += "kernel k { in x : f64; out z = h49999(x) }";
  const LoopSpec spec = parse(text);
  CHECK(analysis::analyse(spec.data()).graph.size() > 49999);
  CHECK(print(spec).size() > 1000000);
}

TEST_CASE("mistakes in a C++ function have codes and places") {
  const auto code = [](auto make) -> std::string {
    try {
      make();
    } catch (const SpecError &error) {
      CHECK(error.where().line > 0);
      return std::string(error.code());
    }
    return {};
  };
  auto x = input("x", f64, {"i"});
  const auto one = [](Expr a) { return a + 1; };
  const Function f = function("f", {"a"}, one);
  CHECK(code([&] { function("exp", {"a"}, one); }) == "E0004");
  CHECK(code([&] { function("sum", {"a"}, one); }) == "E0004");
  CHECK(code([&] { function("let", {"a"}, one); }) == "E0005");
  CHECK(code([&] { function("2f", {"a"}, one); }) == "E0001");
  CHECK(code([&] { function("f", {"in"}, one); }) == "E0005");
  CHECK(code([&] { function("f", {"a", "a"}, [](Expr a, Expr b) { return a + b; }); }) == "E0004");
  CHECK(code([&] { function("f", {"a"}, [&](Expr a) { return a + x; }); }) == "E0003");
  CHECK(code([&] { f(x, x); }) == "E0009");
  CHECK(code([&] { f.derivative("b", [](Expr, Expr g) { return g; }); }) == "E0003");
  Expr leaked;
  function("h", {"a"}, [&](Expr a) { return leaked = a; });
  CHECK(code([&] { function("f", {"a"}, [&](Expr a) { return a + leaked; }); }) == "E0003");
  CHECK(code([&] { check(LoopSpec("k").out("z", leaked + x)); }) == "E0003");
}

} // namespace
} // namespace broadloom
