// The text form: precedence, line ends, namespaces, depth.
#include <broadloom/spec.hpp>

#include "spec/spec.hpp"

#include <doctest/doctest.h>

namespace bl = broadloom;

namespace {

// The canonical text of an expression over a, b, c, d.
std::string expression(const std::string &text) {
  std::string all =
      bl::print(bl::parse("kernel k {\n in a : i32\n in b : i32\n in c : i32\n in d : i32\n"
                          " out z = " +
                          text + "\n}"));
  std::size_t start = all.find("out z = ") + 8;
  return all.substr(start, all.find('\n', start) - start);
}

std::string code_of(const std::string &text) {
  try {
    bl::parse_all(text);
  } catch (const bl::Error &error) {
    return error.code();
  }
  return "";
}

std::string repeat(const std::string &text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

} // namespace

TEST_CASE("operators bind as the language says") {
  CHECK(expression("(a * b) + (c * d)") == "a * b + c * d");
  CHECK(expression("a * (b + c)") == "a * (b + c)");
  CHECK(expression("(a - b) - c") == "a - b - c");
  CHECK(expression("a - (b - c)") == "a - (b - c)");
  CHECK(expression("(a << b) + c") == "(a << b) + c");
  CHECK(expression("a << (b + c)") == "a << b + c");
  CHECK(expression("(a & b) | (c < d)") == "a & b | c < d");
  CHECK(expression("(a == b) & (c == d)") == "a == b & c == d");
  CHECK(expression("(a < b) == c") == "(a < b) == c");
  CHECK(expression("(a || b) && !c") == "(a || b) && !c");
  CHECK(expression("a // (b % c)") == "a // (b % c)");
}

TEST_CASE("power is right associative and binds tighter than a sign on its left") {
  CHECK(expression("a^b^c") == "a^b^c");
  CHECK(expression("(a^b)^c") == "(a^b)^c");
  CHECK(expression("-a^b") == "-a^b");
  CHECK(expression("(-a)^b") == "(-a)^b");
  CHECK(expression("a^-b") == "a^-b");
  CHECK(expression("a^(-b*c)") == "a^(-b * c)");
  CHECK(expression("(-2)^a") == "(-2)^a");
  CHECK(expression("-(a + b)") == "-(a + b)");
  CHECK(expression("pow(a, b + c)") == "a^(b + c)");
}

TEST_CASE("a choice is right associative and prints as where") {
  CHECK(expression("a ? b : c ? d : a") == "where(a, b, where(c, d, a))");
  CHECK(expression("a ? b ? c : d : a") == "where(a, where(b, c, d), a)");
  CHECK(expression("a || b ? c : d + 1") == "where(a || b, c, d + 1)");
}

TEST_CASE("numbers keep their kind and their value") {
  CHECK(expression("a + 2") == "a + 2");
  CHECK(expression("a + 2.") == "a + 2.");
  CHECK(expression("a + .5") == "a + 0.5");
  CHECK(expression("a + 1e-3") == "a + 0.001");
  CHECK(expression("a + 1e300") == "a + 1e+300");
  CHECK(expression("a + 1e-999") == "a + 0.");
  CHECK(expression("a + 0.1") == "a + 0.1");
  CHECK(expression("a + pi") == "a + 3.141592653589793");
  CHECK(expression("a + -inf") == "a + -inf");
  CHECK(expression("a - -9223372036854775808") == "a - -9223372036854775808");
  CHECK(expression("true && a") == "true && a");
}

TEST_CASE("a number beyond f64 is zero or too large, whatever its exponent holds") {
  auto code = [](const std::string &number) {
    return code_of("kernel k { in a : f64; out z = a + " + number + " }");
  };
  const std::string greatest = "9223372036854775807", digits = "1" + std::string(400, '0');
  CHECK(code("91e" + greatest) == "E0006");
  CHECK(code("91e9" + greatest) == "E0006");
  CHECK(code(digits + "e-50") == "E0006");
  CHECK(expression("a + 0.001e-" + greatest) == "a + 0.");
  CHECK(expression("a + 1e-9" + greatest) == "a + 0.");
  CHECK(expression("a + " + digits + "e-800") == "a + 0.");
  CHECK(expression("a + " + digits + "e-400") == "a + 1.");
  CHECK(expression("a + 0e" + greatest) == "a + 0.");
}

TEST_CASE("a label with ? prints as it is written, and nothing else takes one") {
  const char *text = "kernel k {\n  in  x : f32[i?, j=3, k]\n  out z = x\n}\n";
  CHECK(bl::print(bl::parse(text)) == text);
  auto x = bl::input("x", bl::f32, {"i?", "j"});
  CHECK(bl::print(bl::LoopSpec("k").out("z", x)) ==
        "kernel k {\n  in  x : f32[i?, j]\n  out z = x\n}\n");
  CHECK(code_of("kernel k { in x : f32[:?]; out z = x }") == "E0012");
  CHECK(code_of("kernel k { in x : f32[i?=3]; out z = x }") == "E0002");
  CHECK(code_of("kernel k { in x : f32[i?, :]; out z = x }") == "E0012");
}

TEST_CASE("reductions take axes or like=") {
  CHECK(expression("sum(a)") == "sum(a)");
  CHECK(expression("max(a + b, -1, j)") == "max(a + b, -1, j)");
  CHECK(expression("prod(a, like=b)") == "prod(a, like=b)");
  CHECK(expression("prod(a, like=(b, a))") == "prod(a, like=(b, a))");
  CHECK(expression("sum(a, like=(b))") == "sum(a, like=b)");
}

TEST_CASE("a line goes on in parentheses, after a comma and after a binary operator") {
  CHECK(expression("a +\n  b") == "a + b");
  CHECK(expression("(a\n  + b)") == "a + b");
  CHECK(expression("where(a,\n\n b, # why\n c)") == "where(a, b, c)");
  CHECK(expression("a ?\n b :\n c") == "where(a, b, c)");
  CHECK(code_of("kernel k { in a : i32\n out z = a\n + a\n}") == "E0002");
}

TEST_CASE("statements may share a line and kernels a text") {
  auto kernels =
      bl::parse_all("kernel a { in x : f32; out z = x };\n\n# two\nkernel b\n{ out z = 1 }\n");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[1].data().name == "b");
  CHECK(bl::parse_all("# nothing\n").empty());
}

TEST_CASE("one of several kernels is chosen by name") {
  const char *text = "kernel a { out z = 1 }\nkernel b { out z = 2 }";
  CHECK(bl::parse(text, "b").data().name == "b");
  CHECK_THROWS_WITH_AS(bl::parse(text), doctest::Contains("E0010"), bl::SpecError);
  CHECK_THROWS_WITH_AS(bl::parse(text, "c"), doctest::Contains("E0010"), bl::SpecError);
  CHECK_THROWS_WITH_AS(bl::parse(""), doctest::Contains("E0010"), bl::SpecError);
}

TEST_CASE("values, callables and axes are three namespaces") {
  CHECK_NOTHROW(bl::check(bl::parse("kernel k { in sum : f32[exp, sum]; in exp : f32[exp]\n"
                                    " let e = exp(exp) * sum(sum, sum)\n out z = e * pi }")));
}

TEST_CASE("contextual words may be names, reserved ones may not") {
  CHECK(code_of("kernel k { in c : f32; in f : f32; in like : f32; out on = c * f * like }") == "");
  for (const char *word : {"in", "let", "kernel", "f32", "true", "broadcast", "set", "def"})
    CHECK(code_of(std::string("kernel k { let ") + word + " = 1 }") == "E0005");
}

TEST_CASE("broadcast before a parenthesis is the mode of what follows") {
  auto spec = bl::parse("kernel k { in like : f32; out z = broadcast (like == like) }");
  CHECK(spec.data().outputs[0].mode.kind == bl::ModeKind::broadcast);
  CHECK(spec.data().outputs[0].mode.use.like.empty());
}

TEST_CASE("deep nesting parses in any form") {
  const int depth = 100'000;
  CHECK(expression(repeat("(", depth) + "a" + repeat(")", depth)) == "a");
  CHECK(expression(repeat("-", depth) + "a") == repeat("-", depth) + "a");
  CHECK(expression(repeat("exp(", depth) + "a" + repeat(")", depth)).size() == 5 * depth + 1);
  CHECK(expression("a" + repeat(" - (a", depth) + repeat(")", depth)).size() == 6 * depth - 1);
  CHECK(expression(repeat("a ? b : ", depth) + "c").size() == 13 * depth + 1);
  CHECK(expression(repeat("a^", depth) + "a").size() == 2 * depth + 1);
}

TEST_CASE("deep nesting that is wrong is an error") {
  const int depth = 100'000;
  std::string start = "kernel k { in a : i32; out z = ";
  CHECK(code_of(start + repeat("(", depth)) == "E0002");
  CHECK(code_of(start + repeat("(", depth) + "a") == "E0007");
  CHECK(code_of(start + repeat("a ? ", depth) + "a") == "E0007");
  CHECK(code_of(start + repeat("sum(", depth) + ")") == "E0009");
}

TEST_CASE("every prefix of a text is parsed or refused, never worse") {
  std::string text =
      "kernel demo {\n order c; stretch off\n in x : f32[i, j=3]\n in w : f32[:, 4] axes(1, 0)\n"
      " let t = x > 0 ? exp(-x^2) : sum(x, j, 0) # é\n out z[i, j] : f64 += reduce(max, like=x) "
      "t\n}\n";
  for (std::size_t i = 0; i < text.size(); ++i) {
    try {
      bl::parse_all(text.substr(0, i));
      bl::parse_all(text.substr(i));
    } catch (const bl::Error &error) {
      CHECK_FALSE(error.help().empty());
    }
  }
  CHECK(code_of(text) == "");
}
