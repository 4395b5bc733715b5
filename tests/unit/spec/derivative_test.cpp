// The `derivative` clauses of a `def` in gradients: what they replace, what they leave, how the
// text goes on.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

using D = std::vector<double>;

const char *const tenfold = "def f(a) = a ^ 2\n  derivative a = 10 * g\n";

LoopSpec kernel(const std::string &definitions, const std::string &body) {
  return parse(definitions + "kernel k {\n" + body + "\n}");
}

D values(const Array &a) { return D(a.data<double>(), a.data<double>() + a.size()); }

// d_x of `out z = expression` for a vector x, the same by the text of the gradient and by all
// engines.
D slope(const std::string &definitions, const std::string &expression, const D &x,
        bool scalar = false) {
  const LoopSpec spec =
      gradient(kernel(definitions, "in x : f64[i]\nout z = " + expression), {"x"});
  const LoopSpec read = parse(print(spec));
  CHECK(print(read) == print(spec));
  const D ones(scalar ? 1 : x.size(), 1);
  const View<const double> xv(x.data(), {std::int64_t(x.size())});
  const auto gv = scalar ? View<const double>(ones.data(), {})
                         : View<const double>(ones.data(), {std::int64_t(ones.size())});
  D first;
  for (const Engine engine : {Engine::reference, Engine::interpreter, Engine::automatic}) {
    Options options;
    options.engine = engine;
    const D now = values(compile(read, options)({{"x", xv}, {"d_z", gv}})["d_x"]);
    if (!first.empty()) CHECK(now == first);
    first = now;
  }
  return first;
}

std::string message_of(const std::string &definitions, const std::string &body,
                       const std::vector<std::string> &wrt) {
  try {
    gradient(kernel(definitions, body), wrt);
  } catch (const Error &error) {
    return std::string(error.code()) + ": " + error.what();
  }
  return "none";
}

bool holds(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a derivative clause stands for the derivative of the body") {
  CHECK(slope(tenfold, "f(x)", {1, 2}) == D{10, 10});
  CHECK(slope(tenfold, "f(3 * x) * x", {1, 2}) == D{9 + 30, 36 + 60});
  CHECK(slope("def ste(a) = round(a)\n  derivative a = g\n", "ste(x) * 2", {0.3, 7.6}) == D{2, 2});
  const std::string stop = "def stop(a) = a\n  derivative a = 0\n";
  CHECK(slope(stop, "stop(x) * x", {3, 4}) == D{3, 4});
  CHECK(slope(stop, "stop(exp(x)) + x", {1000}) == D{1}); // and not 0 times infinity
}

TEST_CASE(
    "the text of a gradient keeps the calls of functions with clauses, and their definitions") {
  const std::string h = "def h(a) = a * a\n  derivative a = 5 * g\n";
  const std::string f = "def f(a) = a^3\n  derivative a = g * h(a)\n";
  const LoopSpec spec =
      gradient(kernel(h + f, "in x : f64[i]\nin y : f64[i]\nout z = f(x) * y"), {"x", "y"});
  CHECK(print(spec) == h + f +
                           "kernel k_grad {\n"
                           "  in  x : f64[i]\n"
                           "  in  y : f64[i]\n"
                           "  in  d_z : f64[i]\n"
                           "  out d_x : f64 = d_z * y * h(x)\n"
                           "  out d_y : f64 = d_z * f(x)\n"
                           "}\n");
}

TEST_CASE("a gradient of a gradient goes by the clauses of what a clause calls") {
  const LoopSpec first = gradient(kernel("def h(a) = a * a\n  derivative a = 5 * g\n"
                                         "def f(a) = a ^ 3\n  derivative a = g * h(a)\n",
                                         "in x : f64[i]\nout z = f(x)"),
                                  {"x"});
  const LoopSpec second = gradient(parse(print(first)), {"x"});
  CHECK(print(second) == print(gradient(first, {"x"})));
  const D x{2}, g{3};
  const View<const double> xv(x.data(), {1}), gv(g.data(), {1});
  const Results r = compile(parse(print(second)))({{"x", xv}, {"d_z", gv}, {"d_d_x", gv}});
  CHECK(values(r["d_x_2"]) == D{3 * 3 * 5});
}

TEST_CASE("clauses hold in functions that call each other, and the outermost one wins") {
  const std::string calls = tenfold + std::string("def outer(b) = f(b * 2) + b\n");
  CHECK(slope(calls, "outer(x)", {1, 2}) == D{21, 21});
  const std::string own = calls + "def own(c) = outer(c)\n  derivative c = -g\n";
  CHECK(slope(own, "own(x)", {1, 2}) == D{-1, -1});
  const std::string clause = calls + "def by_call(c) = c\n  derivative c = outer(g) * c\n";
  CHECK(slope(clause, "by_call(x)", {1, 3}) == D{5, 15});
}

TEST_CASE("an argument without a clause is derived by the body, the others being constant") {
  const std::string half = "def f(a, b) = a * b\n  derivative a = 100 * g\n";
  CHECK(slope(half, "f(x, x)", {3, 4}) == D{103, 104});
  CHECK(slope(half, "f(sin(x), x) + f(x, 2.)", {0}) == D{200});
  CHECK(slope(half, "f(2., x)", {3, 4}) == D{2, 2});
  const std::string twice = half + "def h(a, b) = f(b, a) + f(a, b)\n  derivative a = 1000 * g\n";
  CHECK(slope(twice, "h(x, x)", {3}) == D{1000 + 100 + 3});
  const std::string folded = "def f(a, b) = sum(a * b)\n  derivative a = 100 * g\n";
  CHECK(slope(folded, "f(x, x)", {3, 4}, true) == D{103, 104});
  const LoopSpec spec = gradient(
      kernel(half, "in x : f64[i]\nin y : f64[i]\nlet s = exp(x)\nout z = f(s, y) * s"), {"y"});
  CHECK(holds(print(spec), "let s = exp(x)\n"));
  CHECK(holds(print(spec), "out d_y : f64 = d_z * s * s\n"));
}

TEST_CASE("what a clause gives is folded over the axes that its argument lacks") {
  const LoopSpec spec =
      gradient(kernel("def f(a, b) = a * b\n  derivative a = g * b\n  derivative b = 2 * g * a\n",
                      "in x : f64[i, j]\nin y : f64[i]\nout z = f(x, exp(y))"),
               {"x", "y"});
  const D x{1, 2, 3, 4}, y{0, 0}, g{1, 1, 1, 10};
  const Results r = compile(spec)({{"x", View<const double>(x.data(), {2, 2})},
                                   {"y", View<const double>(y.data(), {2})},
                                   {"d_z", View<const double>(g.data(), {2, 2})}});
  CHECK(values(r["d_y"]) == D{6, 86});
  CHECK(values(r["d_x"]) == D{1, 1, 1, 10});
}

TEST_CASE("what a clause gives is folded along a dim of 1 that is stretched at the call") {
  const LoopSpec spec = gradient(kernel("def f(a, b) = a * b\n  derivative a = 3 * g * b\n",
                                        "in x : f64[:, :]\nin y : f64[:, :]\nout z = f(x, y)"),
                                 {"x"});
  const D x{2, 3}, y{1, 2, 3, 4, 5, 6}, g(6, 1);
  const Results r = compile(spec)({{"x", View<const double>(x.data(), {1, 2})},
                                   {"y", View<const double>(y.data(), {3, 2})},
                                   {"d_z", View<const double>(g.data(), {3, 2})}});
  CHECK(values(r["d_x"]) == D{27, 36});
}

TEST_CASE("a clause of a function that folds gives every element its cotangent") {
  const LoopSpec spec = gradient(kernel("def total(a) = sum(a, j)\n  derivative a = g\n",
                                        "in x : f64[i, j]\nin y : f64[i]\nout z = total(x + y)"),
                                 {"x", "y"});
  const D x(6, 1), y{1, 2}, g{1, 10};
  const Results r = compile(spec)({{"x", View<const double>(x.data(), {2, 3})},
                                   {"y", View<const double>(y.data(), {2})},
                                   {"d_z", View<const double>(g.data(), {2})}});
  CHECK(values(r["d_x"]) == D{1, 1, 1, 10, 10, 10});
  CHECK(values(r["d_y"]) == D{3, 30});
}

TEST_CASE("nothing leaks through a clause in a branch that is not taken") {
  const std::string ln = "def ln(a) = log(a)\n  derivative a = g / a\n";
  CHECK(slope(ln, "where(x > 0, ln(x), 0)", {0, 2}) == D{0, 0.5});
  CHECK(slope(ln, "where(x > 0, ln(sqrt(x)), 0)", {0, 4}) == D{0, 0.125});
  // A clause that mixes elements gives something to those that are not taken.
  const std::string centred = "def centred(a) = a - sum(a, i) / extent(i)\n"
                              "  derivative a = g - sum(g, i) / extent(i)\n";
  CHECK(slope(centred, "where(x > 0, centred(x), 0)", {-1, 2}) == D{-0.5, 0.5});
}

TEST_CASE("an input that a clause ignores, or only a clause reads, is an input all the same") {
  const std::string first = "def first(a, b) = a\n  derivative a = g * b\n  derivative b = 7 * g\n";
  const LoopSpec spec =
      gradient(kernel(first, "in x : f64[i]\nin y : f64[i]\nout z = first(x, exp(y))"), {"x", "y"});
  const D x{1}, y{0}, g{2};
  const View<const double> xv(x.data(), {1}), yv(y.data(), {1}), gv(g.data(), {1});
  const Results r = compile(spec)({{"x", xv}, {"y", yv}, {"d_z", gv}});
  CHECK(values(r["d_x"]) == D{2});
  CHECK(values(r["d_y"]) == D{14});
}

TEST_CASE("calls of functions with clauses may stand in accumulate and reduce") {
  const LoopSpec spec = gradient(kernel(tenfold, "in x : f64[i, j]\nin y : f64[i]\n"
                                                 "out a = accumulate(sum) f(x) * y\n"
                                                 "out r = reduce(sum) f(x) * y"),
                                 {"x"});
  const D x{1, 2}, y{3}, g{1};
  const Results r = compile(parse(print(spec)))({{"x", View<const double>(x.data(), {1, 2})},
                                                 {"y", View<const double>(y.data(), {1})},
                                                 {"d_a", View<const double>(g.data(), {1})},
                                                 {"d_r", View<const double>(g.data(), {1})}});
  CHECK(values(r["d_x"]) == D{60, 60});
}

TEST_CASE("the cotangent of a complex call is complex, and a real argument takes its real part") {
  using C = std::complex<double>;
  const LoopSpec spec = gradient(
      kernel("def f(a, b) = a * b\n  derivative a = g * conj(b)\n  derivative b = g * conj(a)\n",
             "in z : c128[i]\nin x : f64[i]\nout y = f(z, x)"),
      {"z", "x"});
  const std::vector<C> z{{1, 2}}, g{{3, 5}};
  const D x{2};
  const Results r = compile(spec)({{"z", View<const C>(z.data(), {1})},
                                   {"x", View<const double>(x.data(), {1})},
                                   {"d_y", View<const C>(g.data(), {1})}});
  CHECK(r["d_z"].data<C>()[0] == C(6, 10));
  CHECK(values(r["d_x"]) == D{13});
}

TEST_CASE("an integer argument needs no clause, and an integer result has no derivative") {
  const std::string over = "def over(a, n) = a / n\n  derivative a = g / n\n";
  const LoopSpec spec =
      gradient(kernel(over, "in x : f64[i]\nin n : i32\nout z = over(x, n)"), {"x"});
  CHECK(holds(print(spec), "out d_x : f64 = d_z / n"));
  const std::string message = message_of("def index(a) = i32(a)\n  derivative a = g\n",
                                         "in x : f64[i]\nout z = f64(index(x)) * x", {"x"});
  CHECK(holds(message, "E0602: "));
  CHECK(holds(message, "'index', which gives i32"));
  CHECK(message_of("def test(a) = a > 0\n  derivative a = g\n",
                   "in x : f64[i]\nout z = f64(test(x)) * x", {"x"}) == "none");
}

TEST_CASE("a clause that does not fit what it meets is an error of the gradient") {
  CHECK(holds(
      message_of("def f(a) = a\n  derivative a = g & 1\n", "in x : f64[i]\nout z = f(x)", {"x"}),
      "E0201: "));
  CHECK(holds(message_of("def f(a) = a\n  derivative a = sum(g, j)\n",
                         "in x : f64[i]\nin y : f64[j]\nout z = f(x)\nout w = y", {"x"}),
              "E0103: "));
}

TEST_CASE("a clause that mixes elements of a 1 that may be repeated is an error") {
  const std::string centred = "def centred(a) = a - mean(a)\n  derivative a = g - mean(g)\n";
  const auto code = [&](const std::string &dims) {
    try {
      gradient(parse(centred + "kernel k { in x : f64" + dims + "; in y : f64" + dims +
                     "; out z = centred(x) * y }"),
               {"x"});
    } catch (const Error &error) {
      return std::string(error.code());
    }
    return std::string("none");
  };
  CHECK(code("[:, :]") == "E0601");
  CHECK(code("[i, j]") == "none");
}

TEST_CASE("C++ functions bring their clauses along") {
  const Function f = function("f", {"a"}, [](Expr a) {
                       return a * a;
                     }).derivative("a", [](Expr a, Expr g) { return g * (a + 1); });
  const auto x = input("x", f64, {"i"});
  const LoopSpec spec = gradient(LoopSpec("k").out("z", f(x * 2)), {"x"});
  CHECK(print(spec) == "kernel k_grad {\n"
                       "  in  x : f64[i]\n"
                       "  in  d_z : f64[i]\n"
                       "  out d_x : f64 = d_z * (x * 2 + 1) * 2\n"
                       "}\n");
}

TEST_CASE("an accumulator that calls functions is derived by their clauses") {
  const std::string halve = "def halve(a) = 0.5 * a\n  derivative a = 0.25 * g\n";
  const std::string damped =
      halve + "accumulator damped(a; m) { init a = 0; step a = halve(a) + m }\n";
  CHECK(slope(damped, "damped(x, i)", {1, 2, 4}, true) == D{0.0625, 0.25, 1});
  CHECK(slope(damped, "scan(damped, x, i)", {1, 2}) == D{1.25, 1});
  const std::string part =
      "def mix(a, m) = a * m\n  derivative a = 3 * g\n"
      "accumulator acc(a; m) { init a = 1; step a = mix(a, m); result mix(a, 2) }\n";
  // a1 = x1, a2 = x1 x2: by x2 a1 g, by a1 3 g; the result is 3 g
  CHECK(slope(part, "acc(x, i)", {5, 7}, true) == D{9, 15});
  const std::string plain = "def twice(a) = a + a\n"
                            "accumulator acc(a; m) { init a = 0; step a = twice(a) + m }\n";
  CHECK(slope(plain, "acc(x, i)", {1, 1, 1}, true) == D{4, 2, 1});
}

TEST_CASE("an accumulator cannot be derived by a clause that mixes elements") {
  const std::string message =
      message_of("def f(a) = a\n  derivative a = g - sum(g, i)\n"
                 "accumulator acc(s; m) { init s = 0; step s = s + f(m) }\n",
                 "in x : f64[i]\nout z = acc(x, i)", {"x"});
  CHECK(holds(message, "E0601: "));
  CHECK(holds(message, "an accumulator calls 'f', and its derivative by 'a' is not elementwise"));
}

TEST_CASE("a function may have the name of an accumulator that a gradient adds") {
  const std::string name = "def product_mantissa(a) = a\n  derivative a = g * a\n";
  CHECK(slope(name, "prod(product_mantissa(x))", {2, 3}, true) == D{6, 6});
}

TEST_CASE("chains of functions with clauses for some arguments do not overflow the stack") {
  std::string text = "def h0(a, b) = a * b\n  derivative b = g\n";
  for (int i = 1; i < 5000; ++i)
    text += "def h" + std::to_string(i) + "(a, b) = h" + std::to_string(i - 1) +
            "(a, b) + 1\n  derivative b = g\n";
  CHECK(slope(text, "h4999(x, x)", {7}) == D{8});
}

TEST_CASE("what has no derivative is named in the error") {
  const auto of = [](const std::string &expression) {
    return message_of("", "in x : f64[i]\nout z = " + expression, {"x"});
  };
  CHECK(holds(of("f64(argmax(x)) * x"), "E0601: 'argmax' has no derivative"));
  CHECK(holds(of("f64(scan(argmin, x, i)) * x"), "'argmin' has no derivative"));
  CHECK(holds(of("scan(argmin, x, i, state=v)"), "the scan of 'argmin' has no derivative"));
  CHECK(holds(of("var(x, init=(1, 1, 0, 0, 0))"), "this form of 'var' has no derivative"));
  CHECK(holds(of("f64(i32(x))"), "E0602: nothing flows back through the cast from f64 to i32"));
}
