// print gives one canonical text: reading it back prints the same.
#include <broadloom/spec.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>

namespace bl = broadloom;

namespace {

std::string stable(const bl::LoopSpec &spec) {
  std::string text = bl::print(spec);
  CHECK(bl::print(bl::parse(text)) == text);
  return text;
}

} // namespace

TEST_CASE("a whole kernel prints in canonical form") {
  const char *text = "kernel demo {\n"
                     "  order c\n"
                     "  stretch off\n"
                     "  in  x : f32[i, j=3]\n"
                     "  in  b : f32[:, 4]\n"
                     "  in  w : f32[:] dims(0)\n"
                     "  in  v : f32[:, :] axes(1, 0)\n"
                     "  in  k : f64\n"
                     "  let t = exp(x - b) * k\n"
                     "  out z = broadcast t * w\n"
                     "  out y = broadcast(like=x) k\n"
                     "  out s[j] : f64 = accumulate(sum) x * b\n"
                     "  out c[0, -1] += reduce(max) t\n"
                     "  out g = reduce(prod, like=b) t\n"
                     "  out n[] = sum(x, j, -1) / sum(x, like=k) + f32(3)\n"
                     "}\n";
  CHECK(bl::print(bl::parse(text)) == text);
}

TEST_CASE("inputs of a C++ spec are declared in order of first appearance") {
  auto x = bl::input("x", bl::f32, {"i", "j"}), y = bl::input("y", bl::f32, {"i"});
  auto spec = bl::LoopSpec("demo").order(bl::Order::c).out("z", bl::broadcast, exp(x) * y);
  CHECK(stable(spec) == "kernel demo {\n  order c\n  in  x : f32[i, j]\n  in  y : f32[i]\n"
                        "  out z = broadcast exp(x) * y\n}\n");
}

TEST_CASE("a shared operation becomes a let with a name that is free") {
  auto x = bl::input("t0", bl::f32, 1);
  auto e = exp(x);
  auto s = e * e;
  CHECK(stable(bl::LoopSpec("demo").out("z", s + s)) ==
        "kernel demo {\n  in  t0 : f32[:]\n  let t1 = exp(t0)\n  let t2 = t1 * t1\n"
        "  out z = t2 + t2\n}\n");
  auto y = bl::input("y", bl::f32, {"t0"}).at({bl::axis("t1")}); // axes, too
  auto r = exp(y);
  CHECK(stable(bl::LoopSpec("demo").out("z", r * r)).find("let t2 = exp(y[t1])\n") !=
        std::string::npos);
}

TEST_CASE("accumulators print in the order in which the text folds with them") {
  const auto a = bl::parameter("a"), m = bl::parameter("m");
  const auto first = bl::accumulator("first", {"a"}, {"m"}).init("a", 0).step("a", 0.5 * a + m);
  const auto second = bl::accumulator("second", {"a"}, {"m"}).init("a", 1).step("a", a - m);
  const auto x = bl::input("x", bl::f64, {"i"});
  const auto shared = second(x, "i"); // a let, which stands before the output
  const std::string text = stable(bl::LoopSpec("k").out("z", first(x, "i") + shared * shared));
  CHECK(text.find("accumulator second") < text.find("accumulator first"));
}

TEST_CASE("sixty doublings print as sixty lines") {
  bl::Expr x = bl::input("x", bl::f64);
  for (int i = 0; i < 60; ++i) x = x + x;
  CHECK(stable(bl::LoopSpec("demo").out("z", x)).size() < 3000);
}

TEST_CASE("every float reads back as itself") {
  auto x = bl::input("x", bl::f64);
  for (double value : {0.1, 1.0, -2.5, 1e300, 5e-324, -0.0, 1e22, 123456789.125, 1.0 / 3}) {
    auto spec = bl::LoopSpec("demo").out("z", x + value);
    std::string text = stable(spec);
    std::size_t at = text.find("x + ") + 4;
    CHECK(std::strtod(text.c_str() + at, nullptr) == value);
  }
}

TEST_CASE("infinity and NaN print by name, or as quotients where the name is taken") {
  double inf = std::numeric_limits<double>::infinity();
  auto x = bl::input("x", bl::f64);
  CHECK(stable(bl::LoopSpec("demo").out("z", x * -inf)).find("x * -inf") != std::string::npos);
  auto taken = bl::input("inf", bl::f64);
  std::string text = stable(bl::LoopSpec("demo").out("z", taken * inf + bl::Expr(taken)));
  CHECK(text.find("inf * (1. / 0.) + inf") != std::string::npos);
}

TEST_CASE("negative numbers keep their value under operators") {
  auto x = bl::input("x", bl::f64);
  std::string text = stable(
      bl::LoopSpec("demo").out("z", pow(bl::cast(bl::f64, -2), x) - -3).out("w", pow(-2, x)));
  CHECK(text.find("f64(-2)^x - -3") != std::string::npos);
  CHECK(text.find("(-2)^x") != std::string::npos);
}

TEST_CASE("an integer beyond i64 stays one behind a sign") {
  auto code = [](const std::string &text) {
    try {
      bl::check(bl::parse(text));
    } catch (const bl::Error &error) {
      return error.code();
    }
    return std::string("fine");
  };
  const std::string head = "kernel k {\n  in  a : f64\n  out z = ";
  CHECK(code(head + "a * -9223372036854775808\n}\n") == "fine");
  for (const char *number :
       {"9223372036854775808", "-9223372036854775809", "-(9223372036854775808)"}) {
    CAPTURE(number);
    const std::string text = head + "a * " + number + "\n}\n";
    CHECK(code(text) == "E0202");
    CHECK(code(stable(bl::parse(text))) == "E0202");
  }
}
