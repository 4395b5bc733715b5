// set, fuse, separate, keep and recompute: statements and marks that say how, not what.
#include "analysis/analyse.hpp"
#include "spec/spec.hpp"
#include "text/print_typed.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace broadloom {
namespace {

std::string graph_of(const std::string &statements) {
  return text::print_graph(analysis::analyse(parse("kernel k { " + statements + " }").data()));
}
bool holds(const std::string &text, const std::string &word) {
  return text.find(word) != text.npos;
}
std::string why_of(const std::string &statements) {
  std::string text;
  for (const Decision &d : analysis::analyse(parse("kernel k { " + statements + " }").data()).notes)
    text += d.topic + ": " + d.text + "\n";
  return text;
}
std::string code_of(const std::string &statements) {
  try {
    check(parse("kernel k { " + statements + " }"));
  } catch (const Error &error) {
    return std::string(error.code());
  }
  return {};
}

TEST_CASE("settings are kept, printed and read back, from the text and from C++") {
  const std::string text = "kernel k {\n"
                           "  set accuracy = fast\n"
                           "  set relaxed = on\n"
                           "  fuse a, b\n"
                           "  separate a, c\n"
                           "  in  x : f32[:]\n"
                           "  out a = x\n"
                           "  out b = x + 1\n"
                           "  out c = x + 2\n"
                           "}\n";
  CHECK(print(parse(text)) == text);
  auto x = input("x", f32, 1);
  CHECK(print(LoopSpec("k")
                  .accuracy(Accuracy::fast)
                  .relaxed(true)
                  .fuse("a", "b")
                  .separate("a", "c")
                  .out("a", x)
                  .out("b", x + 1)
                  .out("c", x + 2)) == text);
  CHECK(analysis::analyse(parse(text).data()).accuracy == Accuracy::fast);
  CHECK(analysis::analyse(parse(text).data()).pairings.size() == 2);
}

TEST_CASE("what is fused, by whatever way, cannot be separated") {
  const std::string rest = "in x : f32; let t = x + 1; out a = t; out b = t * 2; ";
  CHECK(code_of(rest + "fuse a, b; separate t, a") == "");
  CHECK(code_of(rest + "fuse a, b; separate b, a") == "E0016");
  CHECK(code_of(rest + "fuse a, t; fuse t, b; separate a, b") == "E0016");
  CHECK(code_of(rest + "separate a, b; fuse b, t; fuse a, t") == "E0016");
  CHECK(code_of(rest + "fuse a, a") == "E0016");
  CHECK(code_of(rest + "fuse a, x") == "E0003");
  CHECK(code_of(rest + "separate a, nothing") == "E0003");
}

// The notes of a kernel that runs, for contiguous inputs.
std::string decisions_of(const std::string &statements) {
  std::string text;
  for (const Decision &d : compile(parse("kernel k { " + statements + " }")).why())
    text += d.topic + ": " + d.text + "\n";
  return text;
}

TEST_CASE("separate keeps outputs in passes of their own, fuse joins those that fit") {
  const std::string rows = "in x : f64[i, j]; out a = x * 2; out s = sum(x, j); ";
  CHECK(holds(decisions_of(rows + "fuse a, s"), "fuse: a, s: both in phase 0"));
  CHECK(holds(decisions_of(rows + "separate a, s"), "separate: a, s: in phases "));
  // The chunks of c are joined in a phase of their own, and what reads x is one.
  const std::string sweep = "in x : f64[i, j]; out r = sum(x, j); out c = sum(x, i); ";
  CHECK(holds(decisions_of(sweep + "fuse r, c"), "fuse: r, c: both in phase 0"));
  CHECK(holds(decisions_of(sweep + "separate r, c"), "separate: r, c: in phases "));
  // c alone would go into the pass that sums x.
  const std::string late = "in x : f64[i]; in y : f64[j]; out c = x * 2; out m = x - sum(x); ";
  CHECK(holds(decisions_of(late + "separate c, m"), "separate: c, m: in phases "));
  CHECK(holds(decisions_of(late + "fuse c, m"), "fuse: c, m: both in phase "));
  CHECK(holds(decisions_of(late + "out d = y; fuse c, d"), "fuse: c, d: not possible here"));
  CHECK(holds(decisions_of(late + "let t = x; out d = t; fuse t, c"), "a let has no loops"));
}

TEST_CASE("fuse and separate change no result") {
  const std::vector<double> x{1, 2, 3, 4, 5, 6};
  const std::string rest = "in x : f64[i, j]; out a = x * 2; out s = sum(x, j); out t = sum(x); "
                           "out n = x / sum(x, j); out c = less_one(x) }";
  for (const char *how : {"", "separate a, s; ", "separate s, t; separate a, n; ", "fuse a, n; ",
                          "fuse n, t; separate a, t; ", "separate a, s; separate s, n; "}) {
    const Results r = compile(parse(std::string("def less_one(v) = v - 1\nkernel k { ") + how +
                                    rest))({{"x", View<const double>(x.data(), {2, 3})}});
    INFO(how);
    for (int i = 0; i < 6; ++i) {
      CHECK(r["a"].data<double>()[i] == 2 * (i + 1));
      CHECK(r["n"].data<double>()[i] == (i + 1) / (i < 3 ? 6.0 : 15.0));
      CHECK(r["c"].data<double>()[i] == i);
    }
    CHECK(r["s"].data<double>()[1] == 15);
    CHECK(r["t"].data<double>()[0] == 21);
  }
}

TEST_CASE("keep and recompute give their argument back, of every type, and survive print") {
  for (const char *type : {"bool", "i8", "u64", "f16", "f32", "c64"}) {
    const std::string in = std::string("in x : ") + type + "[i]; out z = ";
    const std::string plain = graph_of(in + "x");
    CHECK(graph_of(in + "keep(x)") ==
          plain.substr(0, plain.find("out z")) + "keep n0\n" + plain.substr(plain.find("out z")));
  }
  CHECK(holds(graph_of("in x : f32[i]; out z = recompute(exp(x)) * 2"), "recompute n1\n"));
  // As precise as it was accumulated, with or without the mark.
  CHECK(holds(graph_of("in x : f32[i]; out z : f64 = keep(sum(x))"), "out z[] : f64 = n2"));
  CHECK(graph_of("in x : f32; out z = x + keep(2)") ==
        "n0 = input 0 x : f32 {}\nn1 = literal 2 : f32 {}\nn2 = add n0 n1 : f32 {}\n"
        "out z[] : f32 = n2\n");
  const LoopSpec spec = LoopSpec("k").out("z", keep(exp(recompute(input("x", f64, {"i"})))));
  CHECK(holds(print(spec), "out z = keep(exp(recompute(x)))"));
  CHECK(print(parse(print(spec))) == print(spec));
}

TEST_CASE("relaxed rewrites are off by default, and each says what it did") {
  const struct {
    const char *given, *op, *note;
  } rules[] = {
      {"x / 3", "= mul n0 n1", "quotients by a number became products: 1"},
      {"x * y + 1", "= fma", "products and sums became fma: 1"},
      {"1 - x * y", "= fma", "products and sums became fma: 1"},
      {"x ^ 5", "= mul", "powers became products: 1"},
      {"x ^ -3", "= div", "powers became products: 1"},
      {"x + 1.5 + 2.5", "literal 4 ", "chains of numbers were joined: 1"},
      {"x + sum(x * y)", "dot", "sums of products became dot products by fma: 1"},
  };
  for (const auto &rule : rules) {
    INFO(rule.given);
    const std::string rest = std::string("in x : f64[i]; in y : f64[i]; out z = ") + rule.given;
    CHECK(!holds(graph_of(rest), rule.op));
    CHECK(graph_of("set relaxed = off; " + rest) == graph_of(rest));
    CHECK(why_of(rest).empty());
    CHECK(holds(graph_of("set relaxed = on; " + rest), rule.op));
    CHECK(holds(why_of("set relaxed = on; " + rest), rule.note));
  }
}

TEST_CASE("relaxed results differ in the last bits only") {
  const std::vector<double> x{0.3, -7, 1e10, -0.0, 1e-3}, y{0.1, 2, 3, 4, 5};
  for (const char *given :
       {"x / 3", "x * y + 1", "1 - x * y", "x ^ 5", "x ^ -3", "x + 1.5 + 2.5"}) {
    std::vector<double> results[2];
    for (const bool on : {false, true}) {
      const std::string text = std::string("kernel k { set relaxed = ") + (on ? "on" : "off") +
                               "; in x : f64[i]; in y : f64[i]; out z = " + given + " }";
      const Results r = compile(parse(text))(
          {{"x", View<const double>(x.data(), {5})}, {"y", View<const double>(y.data(), {5})}});
      results[on].assign(r["z"].data<double>(), r["z"].data<double>() + 5);
    }
    for (int i = 0; i < 5; ++i) {
      INFO(given << " of " << x[std::size_t(i)]);
      const double a = results[0][std::size_t(i)], b = results[1][std::size_t(i)];
      CHECK((a == b || std::fabs(a - b) <= 4e-15 * std::fabs(a)));
    }
  }
}

TEST_CASE("a relaxed sum of products rounds none of them") {
  // 4097^2 has 25 bits, one more than f32.
  const float x[] = {4097, 4097};
  const auto sum = [&](const char *relaxed) {
    const Results r = compile(parse(std::string("kernel k { set relaxed = ") + relaxed +
                                    "; in x : f32[i]; out s : f64 = sum(x * x) }"))(
        {{"x", View<const float>(x, {2})}});
    return r["s"].data<double>()[0];
  };
  CHECK(sum("on") == 33570818);
  CHECK(sum("off") == 33570816);
}

TEST_CASE(
    "a relaxed sum of products stays a sum where the product is read elsewhere or is no float") {
  for (const char *text :
       {"in x : f32[i]; in y : f32[i]; let p = x * y; out s = sum(p); out p2 = p",
        "in x : i32[i]; in y : i32[i]; out s = sum(x * y)",
        "in x : c64[i]; in y : c64[i]; out s = sum(x * y)", "in x : f32[i]; out s = sum(x * 3)",
        "in x : f32[i]; in y : f32[i]; out s = prod(x * y)"}) {
    INFO(std::string(text));
    CHECK(!holds(graph_of(std::string("set relaxed = on; ") + text), "dot"));
  }
}

TEST_CASE("relaxed powers and joined numbers lose no value beyond the range of what is between") {
  const float x = 1e5f;
  const double big = 1e300;
  const Results r = compile(parse("kernel k { set relaxed = on; in x : f32; in y : f64\n"
                                  "out p = x ^ -8; out q = y * 1e-200 * 1e-200 }"))(
      {{"x", View<const float>(&x, {})}, {"y", View<const double>(&big, {})}});
  CHECK(r["p"].data<float>()[0] * 1e40 == doctest::Approx(1).epsilon(1e-4));
  CHECK(r["q"].data<double>()[0] * 1e100 == doctest::Approx(1));
}

TEST_CASE("a value of numbers that is no i64 is an error in every operation") {
  const std::string least = "(-9223372036854775807 - 1)";
  for (const std::string &text : {"abs(" + least + ")", "-" + least, least + " // -1"}) try {
      graph_of("in x : i64; out z = x + " + text);
      FAIL_CHECK(text << " passed");
    } catch (const Error &error) {
      CHECK(error.code() == "E0202");
    }
}

TEST_CASE("a product that somebody else reads is not fused") {
  const std::string graph =
      graph_of("set relaxed = on; in x : f64; in y : f64; let t = x * y; out a = t + 1; out b = t");
  CHECK(!holds(graph, "fma"));
}

TEST_CASE("integers compare exactly, whatever their types") {
  const std::vector<std::int64_t> s{-1, 0, INT64_MAX, INT64_MIN, (1ll << 53) + 1, 5};
  const std::vector<std::uint64_t> u{UINT64_MAX, 0, (1ull << 63) - 1, 1ull << 63, 1ull << 53, 5};
  const std::string text =
      "kernel k { in s : i64[i]; in u : u64[i]\n"
      "out eq = s == u; out ne = u != s; out lt = s < u; out le = s <= u\n"
      "out gt = u > s; out ge = u >= s; out more = s > u; out least = u <= s }";
  const Results r = compile(parse(text))({{"s", View<const std::int64_t>(s.data(), {6})},
                                          {"u", View<const std::uint64_t>(u.data(), {6})}});
  for (std::size_t i = 0; i < 6; ++i) {
    INFO(s[i] << " and " << u[i]);
    const bool less = s[i] < 0 || std::uint64_t(s[i]) < u[i];
    const bool equal = s[i] >= 0 && std::uint64_t(s[i]) == u[i];
    CHECK(r["eq"].data<bool>()[i] == equal);
    CHECK(r["ne"].data<bool>()[i] == !equal);
    CHECK(r["lt"].data<bool>()[i] == less);
    CHECK(r["le"].data<bool>()[i] == (less || equal));
    CHECK(r["gt"].data<bool>()[i] == less);
    CHECK(r["ge"].data<bool>()[i] == (less || equal));
    CHECK(r["more"].data<bool>()[i] == (!less && !equal));
    CHECK(r["least"].data<bool>()[i] == !less);
  }
}

TEST_CASE("a number compares exactly with a type that does not hold it") {
  const std::vector<std::uint8_t> x{0, 255};
  const Results r = compile(parse("kernel k { in x : u8[:]; out eq = x == -1; out ne = x != 256\n"
                                  "out lt = x < 300; out ge = -1 >= x; out gt = x > -1 }"))(
      {{"x", View<const std::uint8_t>(x.data(), {2})}});
  const std::vector<std::uint64_t> u{0, UINT64_MAX};
  const Results wide =
      compile(parse("kernel k { in u : u64[:]; out eq = u == -1; out gt = u > -1 }"))(
          {{"u", View<const std::uint64_t>(u.data(), {2})}});
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(r["eq"].data<bool>()[i]);
    CHECK(r["ne"].data<bool>()[i]);
    CHECK(r["lt"].data<bool>()[i]);
    CHECK_FALSE(r["ge"].data<bool>()[i]);
    CHECK(r["gt"].data<bool>()[i]);
    CHECK_FALSE(wide["eq"].data<bool>()[i]);
    CHECK(wide["gt"].data<bool>()[i]);
  }
  CHECK(code_of("in x : u8; out z = x + 256") == "E0202");
}

} // namespace
} // namespace broadloom
