// Kernels of many operations, whose functions are called and whose bodies are cut into pieces:
// native code gives the interpreter's bits all the same.
#include "jit/native/target.hpp"
#include "same_bits.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

using Shapes = std::vector<std::int64_t>;
using Terms = std::vector<std::string>;

// The terms in turn, `count` in all, with their number from 1 to 90 for each `#`.
std::string joined(const Terms &terms, int count, const std::string &between) {
  std::string text;
  for (int k = 0; k < count; ++k) {
    if (k > 0) text += between;
    for (const char c : terms[std::size_t(k) % terms.size()])
      text += c == '#' ? std::to_string(k % 90 + 1) : std::string(1, c);
  }
  return text;
}

// Those at which operations change their mind among plain ones.
Array numbers(DType dtype, const Shapes &shape) {
  const Array array(dtype, shape);
  const DType real = real_dtype(dtype);
  const double edges[] = {0,   -0.0,     1,         -1,  2,    8,    63,
                          100, INFINITY, -INFINITY, NAN, 1e10, 3e38, 1e-40};
  std::uint32_t state = 12345;
  for (std::int64_t k = 0; k < array.size() * (is_complex(dtype) ? 2 : 1); ++k) {
    state = state * 1664525u + 1013904223u;
    double value = double(state >> 26) / 7 - (is_unsigned_integer(real) ? 0 : 4);
    if (k % 4 == 3) value = edges[std::size_t(state >> 20) % std::size(edges)];
    ops::store(static_cast<char *>(array.raw()) + k * std::int64_t(size_of(real)), real,
               ops::convert({std::bit_cast<std::uint64_t>(value)}, DType::F64, real));
  }
  return array;
}

// Whether all outputs are the interpreter's, in native code for both instruction sets. All inputs
// are x.
void check(const LoopSpec &spec, DType dtype, const std::vector<Shapes> &shapes) {
  std::vector<NamedView> inputs;
  const auto given = [&](const Array &x) {
    inputs.assign({{"x", x}});
    if (print(spec).find("in  d_z") != std::string::npos) inputs.push_back({"d_z", x});
    return std::span<const NamedView>(inputs);
  };
  const Kernel slow = compile(spec, {.threads = 1, .engine = Engine::interpreter});
  std::vector<Results> told;
  for (const Shapes &shape : shapes) told.push_back(slow.call(given(numbers(dtype, shape))));
  for (const std::string &target : jit::targets_here()) {
    const Kernel fast = compile(spec, {.threads = 2, .target = target, .engine = Engine::jit});
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      INFO(print(spec).substr(0, 200), " on ", target, " with extent ", shapes[k].back());
      const Results ours = fast.call(given(numbers(dtype, shapes[k])));
      for (std::size_t o = 0; o < ours.size(); ++o)
        CHECK(differential::same_bits(told[k][o], ours[o]));
    }
  }
}

const std::vector<Shapes> tails{{1}, {7}, {33}};

LoopSpec over(const std::string &dtype, const std::string &rest, const std::string &before = "") {
  return parse(before + "kernel k { in x : " + dtype + "; " + rest + " }");
}

} // namespace

TEST_CASE("hundreds of functions have the interpreter's bits in native code") {
  const Terms of_complex{"exp(x * #)", "x ^ 1.5",    "sin(x + #)",  "tanh(x / #)", "sqrt(x)",
                         "log(x - #)", "abs(x) * x", "x / (x + #)", "cos(x)"};
  Terms of_real{"exp(x * #)", "x ^ (x / #)", "lgamma(x + #)", "erf(x / #)",     "atan2(x, #)",
                "fmod(x, #)", "x // #",      "x % (x - #)",   "logaddexp(x, #)"};
  for (const char *name :
       {"log",  "sin",   "cos",   "tanh", "rsqrt", "sigmoid", "silu",    "gelu_tanh", "softplus",
        "tan",  "asin",  "acos",  "atan", "erfc",  "gelu",    "digamma", "exp2",      "expm1",
        "log2", "log10", "log1p", "sinh", "cosh",  "asinh",   "acosh",   "atanh",     "cbrt"})
    of_real.push_back(std::string(name) + "(x / #)");
  for (const char *dtype : {"f32", "f64"})
    check(over(dtype + std::string("[:]"), "out z = " + joined(of_real, 330, " + ")),
          dtype == std::string("f32") ? f32 : f64, tails);
  check(over("c64[:]", "out z = " + joined(of_complex, 200, " + ")), c64, tails);
  check(over("c128[:]", "out z = " + joined(of_complex, 200, " + ")), c128, tails);
}

TEST_CASE("hundreds of integer divisions and powers have the interpreter's bits in native code") {
  const Terms terms{"(x // #)",    "(x % (x + #))", "(x * # % 7)",      "fmod(x, x - #)",
                    "x ^ (x & 3)", "(# // x)",      "(x - # // 3 << 2)"};
  const std::pair<const char *, DType> types[] = {{"i8[:]", i8},   {"i16[:]", i16}, {"i32[:]", i32},
                                                  {"i64[:]", i64}, {"u8[:]", u8},   {"u16[:]", u16},
                                                  {"u32[:]", u32}, {"u64[:]", u64}};
  for (const auto &[name, dtype] : types)
    check(over(name, "out z = " + joined(terms, 350, " - ")), dtype, tails);
}

TEST_CASE("hundreds of casts have the interpreter's bits in native code") {
  const Terms terms{"f32(f16(x * #))", "f32(bf16(x / #))", "f32(u64(x * #))",
                    "f32(i8(x - #))",  "f32(i64(x * #))",  "f32(x > #)"};
  for (const auto &[name, dtype] : {std::pair{"f64[:]", f64},
                                    {"f32[:]", f32},
                                    {"f16[:]", f16},
                                    {"bf16[:]", bf16},
                                    {"i64[:]", i64}})
    check(over(name, "out z = " + joined(terms, 300, " + ")), dtype, tails);
}

// Some values wait for long, some are bool, and each step needs the one before.
TEST_CASE("thousands of names have the interpreter's bits in native code") {
  const std::pair<const char *, DType> types[] = {
      {"f32[:]", f32}, {"i8[:]", i8}, {"c64[:]", c64}, {"bool[:]", bool_}};
  for (const auto &[name, dtype] : types) {
    const bool is_truth = dtype == bool_;
    std::string lets = "let t0 = x; let b0 = x == x; ";
    for (int k = 1; k <= 600; ++k) {
      const std::string now = std::to_string(k), before = "t" + std::to_string(k - 1),
                        far = std::to_string(std::max(0, k - 211));
      lets += "let t" + now + " = where(b" + far + ", " + before +
              (is_truth ? " != t" + far : " + t" + far + " * " + std::to_string(k % 3)) + ", x); ";
      lets += "let b" + now + " = t" + now + " != t" + std::to_string(k / 2) + "; ";
    }
    check(over(name, lets + "out z = t600; out y = t400"), dtype, tails);
  }
}

TEST_CASE("large bodies of folds and scans have the interpreter's bits in native code") {
  const std::string terms =
      joined({"x * #", "exp(x / #)", "maximum(x, #)", "erf(x - #)"}, 500, " + ");
  const std::vector<Shapes> shapes{{1, 7}, {7, 33}, {520, 8}, {3, 700}, {300, 3}};
  for (const char *rest :
       {"out z = sum(TERMS, j)", "out z = sum(TERMS, i)",
        "out z = x / sum(TERMS, j); out m = max(TERMS)", "out z = scan(sum, TERMS, j)",
        "out z = scan(sum, TERMS, i, exclusive)", "out z = argmax(TERMS, j) + x"}) {
    std::string text = rest;
    for (std::size_t at; (at = text.find("TERMS")) != text.npos;) text.replace(at, 5, terms);
    check(over("f32[i, j]", text), f32, shapes);
  }
}

TEST_CASE("long accumulators have the interpreter's bits in native code") {
  const std::string step = joined({"exp(m / #)", "m * #", "a * 0.#"}, 700, " + "),
                    join = joined({"a / #", "a_other * #"}, 900, " + ");
  for (const char *rest :
       {"out z = heavy(x, j) + x", "out z = scan(heavy, x, j)", "out z = heavy(x, i)"})
    check(over("f64[i, j]", rest,
               "accumulator heavy(a; m) { init a = 0; step a = " + step + "; combine a = a + " +
                   join + " }\n"),
          f64, {{7, 33}, {2, 300}});
}

TEST_CASE("the gradient of a large kernel has the interpreter's bits in native code") {
  const LoopSpec spec =
      over("f64[:]",
           "out z = " + joined({"sin(x * #)", "x * x", "tanh(x / #)", "x ^ 3 / #"}, 600, " + "));
  check(gradient(spec, {"x"}), f64, tails);
}

// A mask of 8 lanes that waits on the stack as one of 16 would write 8 bytes more.
TEST_CASE("calls of functions keep masks as wide as they are") {
  const LoopSpec spec =
      over("f64[i]", "out z[i] = " + joined({"exp(x / #)", "log(x + #)"}, 300, " + ") + " > 3");
  const Kernel kernel = compile(spec, {.engine = Engine::jit});
  for (const std::int64_t extent : {8, 16, 21}) {
    const Array x = numbers(f64, {extent});
    std::vector<unsigned char> bytes(64, 0xAB);
    kernel.run({x}, {View<bool>(reinterpret_cast<bool *>(bytes.data()), {extent})});
    for (std::size_t k = std::size_t(extent); k < bytes.size(); ++k) CHECK(bytes[k] == 0xAB);
  }
}
