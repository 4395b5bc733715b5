// Texts that no person writes: very deep, very wide, very long, broken. Each ends in a result or in
// an error, in every engine, and within the bounds that the documentation names.
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

std::string repeat(const std::string &text, int count) {
  std::string all;
  all.reserve(text.size() * std::size_t(count));
  for (int k = 0; k < count; ++k) all += text;
  return all;
}

const std::vector<Engine> engines{Engine::reference, Engine::interpreter, Engine::automatic};

// The only output of the kernel for x = [3, 4].
double second_of(const std::string &body, Engine engine) {
  const Kernel kernel =
      compile(parse("kernel k { in x : f64[i]; " + body + " }"), {.threads = 1, .engine = engine});
  const Array x(f64, {2});
  x.data<double>()[0] = 3;
  x.data<double>()[1] = 4;
  return kernel({{"x", x}})[0].data<double>()[1];
}

std::string code_of(const std::string &text) {
  try {
    for (const LoopSpec &spec : parse_all(text)) check(spec);
    return "";
  } catch (const Error &error) {
    CHECK_FALSE(error.help().empty());
    CHECK(error.render().size() < text.size() + 2000);
    return error.code();
  }
}

// Of this thread alone, the least of three: others may use the machine, too.
double seconds_to_check(const std::string &text) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  };
  double least = 1e9;
  for (int turn = 0; turn < 3; ++turn) {
    const double start = now();
    for (const LoopSpec &spec : parse_all(text)) check(spec);
    least = std::min(least, now() - start);
  }
  return least;
}

std::string kernels(int count) {
  std::string text;
  for (int k = 0; k < count; ++k)
    text += "kernel k" + std::to_string(k) + " { in x : f32[i]; out y = x * 2 }\n";
  return text;
}

// The last kernel has two lets for each of the one before it.
std::string calls_of_calls(int levels) {
  std::string text = "kernel k0 { in x : f64[i]; out y = x * 2 + 1 }\n";
  for (int n = 1; n < levels; ++n) {
    const std::string before = "call k" + std::to_string(n - 1);
    text += "kernel k" + std::to_string(n) + " { in x : f64[i]; " + before + "(x) -> a; " + before +
            "(a) -> b; out y = b }\n";
  }
  return text;
}

} // namespace

TEST_CASE("Four times as many kernels, or lets that are called, take far less than sixteen times "
          "as long") {
  CHECK(seconds_to_check(kernels(20'000)) < 13 * seconds_to_check(kernels(5'000)));
  CHECK(seconds_to_check(calls_of_calls(12)) < 13 * seconds_to_check(calls_of_calls(10)));
}

TEST_CASE("100,000 nested parentheses compute what is inside, in every engine") {
  const int depth = 100'000;
  for (const Engine engine : engines)
    CHECK(second_of("out z = " + repeat("(", depth) + "x" + repeat(")", depth), engine) == 4);
}

TEST_CASE("100,000 nested operations are computed in every engine") {
  const int depth = 100'000;
  for (const Engine engine : engines) {
    CHECK(second_of("out z = " + repeat("(0.5 - ", depth) + "x" + repeat(")", depth), engine) == 4);
    CHECK(second_of("out z = " + repeat("abs(", depth) + "x" + repeat(")", depth), engine) == 4);
  }
}

TEST_CASE(
    "An expression of too many operations is refused, and one of as many as there may be is none") {
  const auto code = [](const std::string &value) {
    try {
      parse("kernel k { in x : f64[i]; out z = " + value + " }");
    } catch (const SpecError &error) {
      return error.code();
    }
    return std::string("none");
  };
  const int half = 1 << 19; // an operation and its right side are two
  CHECK(code("x" + repeat(" + x", half - 1)) == "none");
  CHECK(code("x" + repeat(" + x", half)) == "E0013");
  CHECK(code(repeat("(x - ", half) + "x" + repeat(")", half)) == "E0013");
  CHECK(code(repeat("-", 2 * half - 1) + "x") == "none");
  CHECK(code(repeat("-", 2 * half) + "x") == "E0013");
  CHECK(code(repeat("abs(", 2 * half) + "x" + repeat(")", 2 * half)) == "E0013");
  // Positions, borders and the least integer are no operations.
  CHECK(code("x[i + 0]" + repeat("+pad(x,i:(1,1),-1)[i+1-1+0]", half / 4)) == "none");
  CHECK(code("0" + repeat("+-9223372036854775808", half - 1)) == "none");
  CHECK(code("0" + repeat("+iota(i)", half - 1)) == "none");
}

TEST_CASE("10,000 operations in one kernel are computed in every engine") {
  for (const Engine engine : engines) {
    CHECK(second_of("out z = x" + repeat(" + x * 2", 5'000), engine) == 4 + 5'000 * 8);
    std::string lets;
    for (int k = 0; k < 10'000; ++k)
      lets += "let t" + std::to_string(k) + " = " + (k == 0 ? "x" : "t" + std::to_string(k - 1)) +
              " + 1; ";
    CHECK(second_of(lets + "out z = t9999", engine) == 4 + 10'000);
  }
}

TEST_CASE("1,000 inputs meet in one kernel, in every engine") {
  std::string text = "kernel k {\n", total = "0";
  std::vector<Array> arrays;
  std::vector<AnyView> views;
  for (int k = 0; k < 1000; ++k) {
    const std::string name = "x" + std::to_string(k);
    text += "in " + name +
            (k % 3 == 0   ? " : f64\n"
             : k % 3 == 1 ? " : i16[i]\n"
                          : " : f32[i, j]\n");
    total += " + " + name;
    arrays.push_back(k % 3 == 0   ? Array(f64, std::initializer_list<std::int64_t>{})
                     : k % 3 == 1 ? Array(i16, {2})
                                  : Array(f32, {2, 3}));
    if (k % 3 == 0) arrays.back().data<double>()[0] = 1;
    if (k % 3 == 1) arrays.back().data<std::int16_t>()[1] = 2;
    if (k % 3 == 2) arrays.back().data<float>()[5] = 3;
    views.push_back(arrays.back());
  }
  for (const Engine engine : engines) {
    const Kernel kernel =
        compile(parse(text + "out z = " + total + "\n}"), {.threads = 1, .engine = engine});
    const Array z(f64, {2, 3});
    const AnyView out = z;
    kernel.run(views, std::span(&out, 1));
    CHECK(z.data<double>()[5] == 334 + 2 * 333 + 3 * 333);
  }
}

TEST_CASE("A name of a megabyte is a name") {
  const std::string name(1 << 20, 'n');
  for (const Engine engine : engines) {
    CHECK(second_of("let " + name + " = x; out z = " + name + " * 2", engine) == 8);
    CHECK(second_of("out " + name + " = x * 2", engine) == 8);
  }
  CHECK(code_of("kernel " + name + " { in " + name + " : f32[" + name + "]; out z = " + name +
                " }") == "");
  CHECK(code_of("kernel k { in x : f32; out z = x + " + name + " }") == "E0003");
  CHECK(code_of("kernel k { in x : f32; out z = " + name + "(x) }") == "E0008");
}

TEST_CASE("A number of a megabyte is a number, or too large") {
  const std::string zeros(1 << 20, '0');
  CHECK(code_of("kernel k { in x : f64; out z = x + 0." + zeros + "1 }") == "");
  CHECK(code_of("kernel k { in x : f64; out z = x + 1" + zeros + " }") == "E0202");
  CHECK(code_of("kernel k { in x : f64[1" + zeros + "]; out z = x }") == "E0006");
}

TEST_CASE("NUL and broken UTF-8 are errors wherever they stand, comments included") {
  const std::string text = "kernel k { in x : f32[i]; let t = x * 2. # c\n out z = t }";
  for (const std::string &bad :
       {std::string(1, '\0'), std::string("\xff"), std::string("\xc3"), std::string("\xe2\x82"),
        std::string("\xc0\x80"), std::string("\xed\xa0\x80"), std::string("\xf5\x80\x80\x80")})
    for (std::size_t at = 0; at <= text.size(); ++at) {
      CAPTURE(at);
      CHECK(code_of(text.substr(0, at) + bad + text.substr(at)) == "E0014");
    }
}

TEST_CASE("Texts with bytes changed at random are right or refused, and run where they are right") {
  const std::string text =
      "kernel k { in x : f64[i]; in y : f64[i, j=1]; let t = x > 2 ? exp(-x^2) : sum(x, i)\n"
      "out z : f32 = reduce(max) t * 3e-1; out w[i] += accumulate(sum) x // 2 }";
  const std::string alphabet = "()[]{};:,=+-*/%^<>!?&|~.0123456789eijxyztw \n";
  std::mt19937 random(5);
  int right = 0;
  for (int turn = 0; turn < 4000; ++turn) {
    std::string changed = text;
    for (int k = 0; k <= turn % 3; ++k)
      changed[random() % changed.size()] = alphabet[random() % alphabet.size()];
    try {
      const LoopSpec spec = parse(changed);
      const Kernel kernel = compile(spec, {.threads = 1, .engine = Engine::interpreter});
      CHECK(print(parse(print(spec))) == print(spec));
      kernel({{"x", Array(f64, {3})}, {"y", Array(f64, {3, 1})}});
      ++right;
    } catch (const Error &error) {
      CHECK_FALSE(error.help().empty());
    }
  }
  CHECK(right > 50);
}
