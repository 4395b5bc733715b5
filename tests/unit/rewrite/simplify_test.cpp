// Rewrites of the graph: what they make of it, and that they change no bit of a result.
#include "analysis/analyse.hpp"
#include "spec/spec.hpp"
#include "text/print_typed.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace broadloom {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::string graph_of(const std::string &statements) {
  return text::print_graph(analysis::analyse(parse("kernel k { " + statements + " }").data()));
}
bool holds(const std::string &text, const char *word) { return text.find(word) != text.npos; }

// `given` is simplified to `simple`; `kept` is the same value in a form that no rule sees through:
// its numbers are inputs, and `yes` is one that is true.
struct Row {
  const char *given, *simple, *kept;
};
const Row floats[] = {
    {"x * 1", "x", "x * one"},
    {"1 * x", "x", "one * x"},
    {"x / 1", "x", "x / one"},
    {"x - 0", "x", "x - zero"},
    {"x + -0.", "x", "x + -zero"},
    {"-0. + x", "x", "-zero + x"},
    {"x ^ 1", "x", "x ^ one"},
    {"-(-x)", "x", "-(yes ? -x : x)"},
    {"abs(abs(x))", "abs(x)", "abs(yes ? abs(x) : x)"},
    {"abs(-x)", "abs(x)", "abs(yes ? -x : x)"},
    {"floor(ceil(x))", "ceil(x)", "floor(yes ? ceil(x) : x)"},
    {"maximum(x, x)", "x", "maximum(x, yes ? x : zero)"},
    {"minimum(x, x)", "x", "minimum(x, yes ? x : zero)"},
    {"fmax(x, x)", "x", "fmax(x, yes ? x : zero)"},
    {"fmin(x, x)", "x", "fmin(x, yes ? x : zero)"},
    {"where(true, x, one)", "x", "where(yes, x, one)"},
    {"where(false, one, x)", "x", "where(!yes, one, x)"},
    {"where(x < one, x, x)", "x", "where(x < one, x, yes ? x : zero)"},
    {"!!(x < one)", "x < one", "!(yes ? !(x < one) : yes)"},
    {"(x < one) && true", "x < one", "(x < one) && yes"},
    {"(x < one) || false", "x < one", "(x < one) || !yes"},
    {"zero + u8(clip(x, 0, 255))", "zero + u8(x)", "zero + u8(yes ? clip(x, 0, 255) : x)"},
    {"zero + i8(clip(x, -300, 127))", "zero + i8(x)", "zero + i8(yes ? clip(x, -300, 127) : x)"},
    {"zero + u8(round(minimum(255, x)))", "zero + u8(round(x))",
     "zero + u8(round(yes ? minimum(255, x) : x))"},
};
const Row integers[] = {
    {"x + 0", "x", "x + zero"},
    {"0 + x", "x", "zero + x"},
    {"x - 0", "x", "x - zero"},
    {"x * 1", "x", "x * one"},
    {"x // 1", "x", "x // one"},
    {"x ^ 1", "x", "x ^ one"},
    {"x | 0", "x", "x | zero"},
    {"xor(x, 0)", "x", "xor(x, zero)"},
    {"x << 0", "x", "x << zero"},
    {"x >> 0", "x", "x >> zero"},
    {"-(-x)", "x", "-(yes ? -x : x)"},
    {"~(~x)", "x", "~(yes ? ~x : x)"},
    {"floor(x)", "x", "yes ? x : zero"},
    {"abs(-x)", "abs(x)", "abs(yes ? -x : x)"},
    {"x & x", "x", "x & (yes ? x : zero)"},
    {"x | x", "x", "x | (yes ? x : zero)"},
};

std::string before(DType dtype) {
  const std::string type(name(dtype));
  return "in x : " + type + "[i]; in one : " + type + "; in zero : " + type + "; in yes : bool; ";
}

template <class T> bool same(const Array &a, const Array &b, std::size_t i) {
  if (a.dtype() == bool_) return a.data<bool>()[i] == b.data<bool>()[i];
  const T x = a.data<T>()[i], y = b.data<T>()[i];
  return (x != x && y != y) || std::memcmp(&x, &y, sizeof x) == 0;
}

// The first and the third column on these values, in every engine.
template <class T> void check_bits(const Row &row, DType dtype, const std::vector<T> &x) {
  const T one = 1, zero = 0;
  const bool yes = true;
  const std::string text =
      "kernel k { " + before(dtype) + "out a = " + row.given + "; out b = " + row.kept + " }";
  for (Engine engine : {Engine::automatic, Engine::interpreter}) {
    Options options;
    options.engine = engine;
    const Results r =
        compile(parse(text), options)({{"x", View<const T>(x.data(), {std::int64_t(x.size())})},
                                       {"one", View<const T>(&one, {})},
                                       {"zero", View<const T>(&zero, {})},
                                       {"yes", View<const bool>(&yes, {})}});
    REQUIRE(r["a"].dtype() == r["b"].dtype());
    for (std::size_t i = 0; i < x.size(); ++i) {
      INFO(row.given << " of " << double(x[i]));
      CHECK(same<T>(r["a"], r["b"], i));
    }
  }
}

void check_graph(const Row &row, DType dtype) {
  INFO(row.given << " of " << name(dtype));
  CHECK(graph_of(before(dtype) + "out z = " + row.given) ==
        graph_of(before(dtype) + "out z = " + row.simple));
}

TEST_CASE("a float's graph is that of the simpler text, and no bit changes") {
  for (const Row &row : floats) {
    check_graph(row, f32);
    check_graph(row, f64);
    check_bits<double>(
        row, f64,
        {0.0, -0.0, 1, -1, 0.5, -2.5, 254.5, 255.5, 1e300, -1e-310, 5e-324, 0.1, inf, -inf, nan});
    check_bits<float>(row, f32,
                      {0.0f, -0.0f, 1, -1, 0.5f, -2.5f, 254.5f, 255.5f, 1e30f, -1e-40f, 1e-45f,
                       0.1f, float(inf), -float(inf), float(nan)});
  }
}

TEST_CASE("an integer's graph is that of the simpler text, and no bit changes") {
  for (const Row &row : integers) {
    for (DType dtype : {i8, i16, i32, i64}) check_graph(row, dtype);
    // An unsigned -x is no negative number.
    if (std::string(row.given) != "abs(-x)")
      for (DType dtype : {u8, u32, u64}) check_graph(row, dtype);
    check_bits<std::int8_t>(row, i8, {0, 1, -1, 127, -128, 64});
    check_bits<std::int64_t>(row, i64, {0, 1, -1, INT64_MAX, INT64_MIN, std::int64_t(1) << 40});
    check_bits<std::uint8_t>(row, u8, {0, 1, 255, 128, 127});
    check_bits<std::uint64_t>(row, u64, {0, 1, UINT64_MAX, std::uint64_t(1) << 63});
  }
}

TEST_CASE("what would change a bit is left as it is") {
  const std::string x = "in x : f64; out z = ";
  CHECK(holds(graph_of(x + "x + 0"), "add")); // -0 + 0 is +0
  CHECK(holds(graph_of(x + "x - -0."), "sub"));
  CHECK(holds(graph_of(x + "x * 0"), "mul")); // inf, nan and negative ones
  CHECK(holds(graph_of(x + "x // 1"), "floordiv"));
  CHECK(holds(graph_of(x + "x - x"), "sub"));
  CHECK(holds(graph_of(x + "f64(f32(x))"), "cast"));
  CHECK(holds(graph_of(x + "x / 3"), "div"));
  CHECK(!holds(graph_of(x + "x * x + 1"), "fma"));
  CHECK(holds(graph_of("in x : i64; out z = i64(f64(x))"), "cast"));
}

TEST_CASE("casts by way of a type that holds every value become one cast") {
  const auto same = [](const std::string &type, const std::string &a, const std::string &b) {
    return graph_of("in x : " + type + "; out z = " + a) ==
           graph_of("in x : " + type + "; out z = " + b);
  };
  CHECK(same("i8", "f64(i32(x))", "f64(x)"));
  CHECK(same("f32", "f32(f64(x))", "x"));
  CHECK(same("u8", "i8(i64(x))", "i8(x)"));
  CHECK(same("bool", "f32(i8(x))", "f32(x)"));
  CHECK_FALSE(same("u64", "f64(i64(x))", "f64(x)"));
  CHECK_FALSE(same("i32", "f64(f32(x))", "f64(x)"));
}

TEST_CASE("limits that are those of the integer type are left to the conversion") {
  const auto same = [](const std::string &a, const std::string &b) {
    return graph_of("in x : f32[i]; out z = " + a) == graph_of("in x : f32[i]; out z = " + b);
  };
  CHECK(same("u8(clip(x, 0, 255))", "u8(x)"));
  CHECK(same("i8(clip(x, -128, 300))", "i8(x)"));
  CHECK(same("u16(minimum(70000, x))", "u16(x)"));
  CHECK(same("u8(round(clip(x, 0, 255)))", "u8(round(x))"));
  CHECK(same("u8(clip(x, -0.5, 255.9))", "u8(x)"));
  CHECK(same("u8(clip(x, 1, 255))", "u8(maximum(x, 1))"));
  CHECK(holds(graph_of("in x : f32[i]; out z = u8(clip(x, 0, 254))"), "minimum"));
  CHECK(holds(graph_of("in x : f32[i]; out z = u8(round(minimum(x, 255.5)))"), "minimum"));
  CHECK(holds(graph_of("in x : f32[i]; out z = i8(maximum(x, 0))"), "maximum"));
  CHECK(holds(graph_of("in x : f32[i]; out z = f32(minimum(x, inf))"), "minimum"));
  CHECK(holds(graph_of("in x : i32[i]; out z = u8(clip(x, 0, 255))"), "minimum")); // wraps
}

TEST_CASE("what an integer cannot be is a constant in the integer's extents") {
  CHECK(holds(graph_of("in x : i32[i]; out z = isnan(x)"), "= literal false : bool {}"));
  CHECK(holds(graph_of("in x : i32[i]; out z = isnan(x)"), "= expand"));
  CHECK(holds(graph_of("in x : u8[i]; out z = isfinite(x)"), "= literal true : bool {}"));
  CHECK(!holds(graph_of("in x : i16; out z = isinf(x)"), "expand"));
  const std::vector<std::int32_t> x{1, 2, 3};
  const Results r =
      compile(parse("kernel k { in x : i32[:]; out z = x * 0; out f = isfinite(x) }"))(
          {{"x", View<const std::int32_t>(x.data(), {3})}});
  REQUIRE(r["z"].size() == 3);
  REQUIRE(r["f"].size() == 3);
  for (int i = 0; i < 3; ++i) {
    CHECK(r["z"].data<std::int32_t>()[i] == 0);
    CHECK(r["f"].data<bool>()[i]);
  }
}

TEST_CASE("an operand that gives the result its extents, or may fail, stays") {
  const std::string stretched = "in x : f64[:]; in y : f64[:]; out z = where(true, x, y)";
  CHECK(holds(graph_of(stretched), "where"));
  // The least of nothing is an error.
  CHECK(
      holds(graph_of("in x : f64[i]; in y : f64[j]; out z = where(true, x, min(y, j))"), "where"));
  const std::vector<double> x{7}, y{1, 2, 3};
  const Results r = compile(parse("kernel k { " + stretched + " }"))(
      {{"x", View<const double>(x.data(), {1})}, {"y", View<const double>(y.data(), {3})}});
  CHECK(r["z"].size() == 3);
}

TEST_CASE("operands in either order are one value, where order does not matter") {
  const std::string inputs = "in x : f64; in y : f64; ";
  CHECK(holds(graph_of(inputs + "out a = x + y; out b = y + x"), "out b[] : f64 = n2"));
  CHECK(holds(graph_of(inputs + "out a = x - y; out b = y - x"), "out b[] : f64 = n3"));
}

} // namespace
} // namespace broadloom
