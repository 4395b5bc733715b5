// Random numbers of a seed and a counter: Philox 4x32-10, against the vectors of its authors.
#include "all_engines.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

using Words = std::array<std::uint32_t, 4>;

// As in the paper, word by word.
Words philox(Words c, std::uint32_t k, std::uint32_t l) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t(0xD2511F53) * c[0], b = std::uint64_t(0xCD9E8D57) * c[2];
    c = {std::uint32_t(b >> 32) ^ c[1] ^ k, std::uint32_t(b), std::uint32_t(a >> 32) ^ c[3] ^ l,
         std::uint32_t(a)};
    k += 0x9E3779B9;
    l += 0xBB67AE85;
  }
  return c;
}

Words words_of(std::int64_t seed, std::int64_t counter) {
  const auto low = [](std::int64_t n) { return std::uint32_t(std::uint64_t(n)); };
  const auto high = [](std::int64_t n) { return std::uint32_t(std::uint64_t(n) >> 32); };
  return philox({low(counter), high(counter), 0, 0}, low(seed), high(seed));
}

double unit(std::uint32_t a, std::uint32_t b) {
  return (double(a >> 5) * 67108864 + double(b >> 6)) / 9007199254740992;
}

const std::vector<std::int64_t> seeds{0, 1, 7, -1, 1'000'000'007, -(std::int64_t(1) << 62)};
const std::vector<std::int64_t> counters{0, 1, 2, -1, 4'294'967'296, -8, 123'456'789'012};

} // namespace

TEST_SUITE_BEGIN("random numbers");

TEST_CASE("the words of this test are those that the authors of Philox give") {
  CHECK(philox({0, 0, 0, 0}, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t all = 0xffffffff;
  CHECK(philox({all, all, all, all}, all, all) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random numbers are those words, in every engine") {
  const Results r = tests::results("in  s : i64[i]\nin  c : i64[j]\n"
                                   "out bits = random_bits(s, c)\nout u = random(s, c)",
                                   {{"s", View<const std::int64_t>(seeds.data(), {6})},
                                    {"c", View<const std::int64_t>(counters.data(), {7})}});
  const Array bits = r["bits"].copy(), u = r["u"].copy();
  REQUIRE(bits.dtype() == u32);
  for (std::size_t i = 0; i < seeds.size(); ++i)
    for (std::size_t j = 0; j < counters.size(); ++j) {
      const Words words = words_of(seeds[i], counters[j]);
      CHECK(bits.data<std::uint32_t>()[i * counters.size() + j] == words[0]);
      CHECK(u.data<double>()[i * counters.size() + j] == unit(words[0], words[1]));
    }
}

TEST_CASE("seeds and counters are integers of any type") {
  const double x = 0;
  for (const std::string dtype : {"u8", "u32", "u64", "i8", "i32", "i64", "bool"}) {
    const Results r = tests::results("in  x : f64\nout u = x + random(" + dtype + "(1), " + dtype +
                                         "(1))\nout v = x + random(1, 1)",
                                     {{"x", View<const double>(&x, {})}});
    CHECK(tests::values(r["u"]) == tests::values(r["v"]));
  }
}

TEST_CASE("normal numbers have mean 0 and variance 1, and follow from four words") {
  const std::int64_t n = 20000;
  const Array z =
      compile(parse("kernel k { out z[n < 20000] = normal(5, iota(n)) }")).call({})["z"];
  double sum = 0, squares = 0;
  for (std::int64_t c = 0; c < n; ++c) {
    const double got = z.data<double>()[c];
    const Words words = words_of(5, c);
    const double wanted = std::sqrt(-2 * std::log(1 - unit(words[0], words[1]))) *
                          std::cos(6.283185307179586 * unit(words[2], words[3]));
    if (c < 500) CHECK(got == doctest::Approx(wanted).epsilon(1e-12));
    sum += got;
    squares += got * got;
  }
  CHECK(std::abs(sum / double(n)) < 0.03);
  CHECK(squares / double(n) == doctest::Approx(1).epsilon(0.05));
}

TEST_CASE("a kernel with random numbers prints itself, and its gradient has the same ones") {
  const std::string text = "kernel drop {\n  in  x : f64[n]\n  in  seed : i64\n"
                           "  out y = where(random(seed, iota(n)) < 0.5, 0, x * x)\n}\n";
  CHECK(print(parse(text)) == text);
  const LoopSpec back = gradient(parse(text), {"x"});
  const std::string printed = print(back);
  CHECK_MESSAGE(printed.find("random(seed, iota(n, of=x)) < 0.5") != std::string::npos, printed);
  CHECK(printed.find("def") == std::string::npos);
  CHECK(print(parse(printed)) == printed);
  const std::vector<double> x(50, 3), d_y(50, 1);
  const std::int64_t seed = 11;
  const Results r = tests::in_all_engines(back, {{"x", View<const double>(x.data(), {50})},
                                                 {"seed", View<const std::int64_t>(&seed, {})},
                                                 {"d_y", View<const double>(d_y.data(), {50})}});
  for (std::int64_t c = 0; c < 50; ++c) {
    const Words words = words_of(seed, c);
    CHECK(r["d_x"].data<double>()[c] == (unit(words[0], words[1]) < 0.5 ? 0 : 6));
  }
}

TEST_CASE("a function of the text takes the place of one that is called as it") {
  const std::string text = "def normal(x, y) = x - y\nkernel k {\n  in  s : i64\n"
                           "  out z = normal(s, 3)\n  out u = random(s, 3)\n}\n";
  CHECK(print(parse(text)) == text);
  const std::int64_t seed = 8;
  const Results r =
      tests::in_all_engines(parse(text), {{"s", View<const std::int64_t>(&seed, {})}});
  CHECK(r["z"].data<std::int64_t>()[0] == 5);
  // One of each in one kernel, as C++ may have it.
  const Function own = function("normal", {"x"}, [](Expr x) { return x + 1; });
  const LoopSpec both = LoopSpec("k").out("a", own(2.0)).out("b", normal(1, 2));
  CHECK(print(parse(print(both))) == print(both));
}

TEST_CASE("in C++ they are functions of expressions") {
  const LoopSpec spec = LoopSpec("k").out("u", Mode(), {"n"}, random(1, iota("n"))).extent("n", 3);
  CHECK(print(spec) == "kernel k {\n  out u[n < 3] = random(1, iota(n))\n}\n");
  const Array u = tests::in_all_engines(spec, {})["u"];
  for (std::int64_t c = 0; c < 3; ++c) {
    const Words words = words_of(1, c);
    CHECK(u.data<double>()[c] == unit(words[0], words[1]));
  }
}

TEST_SUITE_END();
