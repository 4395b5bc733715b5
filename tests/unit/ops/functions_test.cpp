// The elementwise functions of the language: each has a name, a value and the same bits everywhere.
#include "ops/ops.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace broadloom {
namespace {

using ops::Op;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double value(Op op, DType dtype, const std::vector<double> &args) {
  std::vector<ops::Scalar> scalars;
  for (double x : args) scalars.push_back(ops::convert(ops::scalar_from(x), DType::F64, dtype));
  return ops::as_f64(ops::convert(ops::evaluate(op, dtype, scalars), dtype, DType::F64));
}

// What mpmath gives, rounded to f64.
struct Row {
  Op op;
  std::vector<double> args;
  double exact;
};
const Row rows[] = {
    {Op::Digamma, {0x1.0000000000000p-1}, -0x1.f6a897d3214fcp+0},
    {Op::Digamma, {1.0}, -0x1.2788cfc6fb619p-1},
    {Op::Digamma, {0x1.2000000000000p+1}, 0x1.2524cf7b2db82p-1},
    {Op::Digamma, {10.0}, 0x1.20396dc85cc95p+1},
    {Op::Digamma, {100000.0}, 0x1.7069d82dcebc1p+3},
    {Op::Digamma, {0x1.5798ee2308c3ap-27}, -0x1.7d784024f119ep+26},
    {Op::Digamma, {-0x1.0000000000000p-1}, 0x1.2aed059bd608ap-5},
    {Op::Digamma, {-0x1.e000000000000p+1}, -0x1.b1406111ded57p+0},
    {Op::Digamma, {-0x1.4100000000000p+4}, 0x1.2d14275c189c3p+4},
    {Op::Digamma, {0x1.762d86356be3fp+0}, -0x1.aa2d9b3ce29e0p-54},
    {Op::Digamma, {0x1.762d857448a74p+0}, -0x1.75c9b2d95d9e3p-25},
    {Op::Digamma, {-0x1.4f8b588e368f1p-17}, 0x1.869f6c3a84229p+16},
    {Op::Digamma, {-0x1.f410000000000p+9}, 0x1.cfc5795a54cecp+3},
    {Op::Polygamma, {1.0, 1.0}, 0x1.a51a6625307d3p+0},
    {Op::Polygamma, {1.0, 0x1.0000000000000p-2}, 0x1.1328429d927c6p+4},
    {Op::Polygamma, {1.0, -0x1.8000000000000p-1}, 0x1.2f9a09ba04438p+4},
    {Op::Polygamma, {2.0, 3.0}, -0x1.3ba004f006214p-3},
    {Op::Polygamma, {2.0, -0x1.4000000000000p+1}, -0x1.bb342bf188dd7p-4},
    {Op::Polygamma, {3.0, 100.0}, 0x1.107d23f73a924p-19},
    {Op::Polygamma, {5.0, 0x1.0000000000000p-3}, 0x1.e0003ca8dbb81p+24},
    {Op::Polygamma, {5.0, -0x1.f800000000000p+2}, 0x1.e0014b10b076cp+24},
    {Op::Polygamma, {10.0, 2.0}, -0x1.c053f15cede28p+10},
    {Op::Polygamma, {30.0, 40.0}, -0x1.92981861e84acp-57},
    {Op::Polygamma, {30.0, -0x1.a000000000000p+1}, 0x1.a27ec6e1f2d01p+169},
    {Op::Polygamma, {0.0, 2.0}, 0x1.b0ee6072093cep-2},
    {Op::Gelu, {1.0}, 0x1.aec4bd120d37dp-1},
    {Op::Gelu, {-1.0}, -0x1.44ed0bb7cb20bp-3},
    {Op::Gelu, {0x1.0000000000000p-1}, 0x1.62075e232ac77p-2},
    {Op::Gelu, {-3.0}, -0x1.096697b244861p-8},
    {Op::Gelu, {-10.0}, -0x1.7079362639d51p-74},
    {Op::Gelu, {-0x1.2c00000000000p+5}, -0x1.367682a29e309p-1016},
    {Op::Gelu, {-0x1.3200000000000p+5}, -7.9548e-319},
    {Op::Gelu, {6.0}, 0x1.7ffffff9a4da6p+2},
    {Op::Gelu, {0x1.56e1fc2f8f359p-997}, 0x1.56e1fc2f8f359p-998},
    {Op::GeluTanh, {1.0}, 0x1.aeb0b772a3ae1p-1},
    {Op::GeluTanh, {-1.0}, -0x1.453d22357147ap-3},
    {Op::GeluTanh, {0x1.0000000000000p-1}, 0x1.6202da77df3f9p-2},
    {Op::GeluTanh, {-3.0}, -0x1.dcc2a011612b9p-9},
    {Op::GeluTanh, {-10.0}, -0x1.47c8fd5284feap-123},
    {Op::GeluTanh, {-0x1.5800000000000p+4}, -2.8e-322},
    {Op::GeluTanh, {6.0}, 0x1.7fffffffe8cd2p+2},
    {Op::Sigmoid, {0.0}, 0x1.0000000000000p-1},
    {Op::Sigmoid, {1.0}, 0x1.764d4f5d5a2bdp-1},
    {Op::Sigmoid, {-1.0}, 0x1.136561454ba86p-2},
    {Op::Sigmoid, {40.0}, 1.0},
    {Op::Sigmoid, {-40.0}, 0x1.39792499b1a24p-58},
    {Op::Sigmoid, {-740.0}, 4.2e-322},
    {Op::Sigmoid, {1000.0}, 1.0},
    {Op::Silu, {1.0}, 0x1.764d4f5d5a2bdp-1},
    {Op::Silu, {-1.0}, -0x1.136561454ba86p-2},
    {Op::Silu, {40.0}, 40.0},
    {Op::Silu, {-40.0}, -0x1.87d76dc01e0adp-53},
    {Op::Silu, {-0x1.7340000000000p+9}, -2.553e-320},
    {Op::Softplus, {0.0}, 0x1.62e42fefa39efp-1},
    {Op::Softplus, {1.0}, 0x1.5031eafefb049p+0},
    {Op::Softplus, {-1.0}, 0x1.40c7abfbec124p-2},
    {Op::Softplus, {40.0}, 40.0},
    {Op::Softplus, {-40.0}, 0x1.39792499b1a24p-58},
    {Op::Softplus, {1000.0}, 1000.0},
    {Op::Softplus, {-740.0}, 4.2e-322},
    {Op::LogAddExp, {0.0, 0.0}, 0x1.62e42fefa39efp-1},
    {Op::LogAddExp, {1.0, 2.0}, 0x1.2818f57f7d825p+1},
    {Op::LogAddExp, {-1000.0, -1001.0}, -0x1.f3d7e70a80828p+9},
    {Op::LogAddExp, {1000.0, -1000.0}, 1000.0},
    {Op::LogAddExp, {-0x1.0000000000000p-1, -1.0}, -0x1.a8b9024a3f9c2p-6},
    {Op::LogAddExp, {3.0, 0x1.7ff8000000000p+1}, 0x1.d8b50c0be8e7cp+1},
    {Op::Rsqrt, {2.0}, 0x1.6a09e667f3bcdp-1},
    {Op::Rsqrt, {0x1.8000000000000p-7}, 0x1.279a74590331cp+3},
    {Op::Rsqrt, {0x1.7e43c8800759cp+996}, 0x1.a2fe76a3f9475p-499},
    {Op::Rsqrt, {5e-324}, 0x1.0000000000000p+537},
    {Op::Fma, {0x1.0000001p0, 0x1.0000001p0, -1}, 0x1.00000008p-27},
};

// NaN as one value; zeros and all else by their bits.
bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

TEST_CASE("functions have the values of mpmath within three ulps, and f32 within one") {
  for (const Row &row : rows) {
    INFO(ops::info(row.op).enumerator << " of " << row.args[0] << ", exactly " << row.exact);
    const double got = value(row.op, f64, row.args);
    // Left of zero, digamma passes through zero between any two poles: there ulps are those of 1.
    const bool near_one = row.op == Op::Digamma && row.args[0] < 0;
    const double size = std::max(std::fabs(row.exact), near_one ? 1.0 : 0.0);
    const double ulp = std::nextafter(size, inf) - size;
    CHECK(std::fabs(got - row.exact) <= 3 * ulp);

    bool narrow = true; // are the arguments the same in f32?
    for (double x : row.args) narrow = narrow && double(float(x)) == x;
    if (!narrow) continue;
    const float rounded = float(row.exact);
    const double found = value(row.op, f32, row.args);
    CHECK(found <= std::nextafter(rounded, std::numeric_limits<float>::infinity()));
    CHECK(found >= std::nextafter(rounded, -std::numeric_limits<float>::infinity()));
  }
}

TEST_CASE("functions end in limits, not in NaN, where they have one") {
  const struct {
    Op op;
    std::vector<double> args;
    double result;
  } edges[] = {
      {Op::Sigmoid, {-1000}, 0},
      {Op::Sigmoid, {-inf}, 0},
      {Op::Sigmoid, {inf}, 1},
      {Op::Softplus, {-inf}, 0},
      {Op::Softplus, {1000}, 1000},
      {Op::Softplus, {inf}, inf},
      {Op::Silu, {-inf}, -0.0},
      {Op::Silu, {-1e30}, -0.0},
      {Op::Silu, {-0.0}, -0.0},
      {Op::Silu, {inf}, inf},
      {Op::Gelu, {-inf}, -0.0},
      {Op::Gelu, {-1e30}, -0.0},
      {Op::Gelu, {inf}, inf},
      {Op::GeluTanh, {-inf}, -0.0},
      {Op::GeluTanh, {-1e30}, -0.0},
      {Op::GeluTanh, {1e30}, double(1e30f)},
      {Op::GeluTanh, {inf}, inf},
      {Op::LogAddExp, {-inf, -inf}, -inf},
      {Op::LogAddExp, {inf, inf}, inf},
      {Op::LogAddExp, {inf, -inf}, inf},
      {Op::LogAddExp, {-inf, 3}, 3},
      {Op::LogAddExp, {inf, nan}, nan},
      {Op::LogAddExp, {-inf, nan}, nan},
      {Op::Rsqrt, {0.0}, inf},
      {Op::Rsqrt, {-0.0}, -inf},
      {Op::Rsqrt, {inf}, 0},
      {Op::Rsqrt, {-1}, nan},
      {Op::Fma, {inf, 0, nan}, nan},
      {Op::Fma, {inf, 2, -inf}, nan},
      {Op::Digamma, {0.0}, -inf},
      {Op::Digamma, {-0.0}, inf},
      {Op::Digamma, {-1}, nan},
      {Op::Digamma, {-inf}, nan},
      {Op::Digamma, {inf}, inf},
      {Op::Polygamma, {0, -3}, nan},
      {Op::Polygamma, {1, -3}, inf},
      {Op::Polygamma, {2, 0}, -inf},
      {Op::Polygamma, {1, inf}, 0},
      {Op::Polygamma, {2, inf}, -0.0},
      {Op::Polygamma, {0.5, 1}, nan},
      {Op::Polygamma, {-1, 1}, nan},
      {Op::Polygamma, {nan, 1}, nan},
  };
  for (const auto &edge : edges) {
    for (DType dtype : {f32, f64}) {
      if (edge.op == Op::GeluTanh && edge.args[0] == 1e30 && dtype == f64) continue;
      const double got = value(edge.op, dtype, edge.args);
      INFO(ops::info(edge.op).enumerator << " " << name(dtype) << " of " << edge.args[0] << " is "
                                         << got);
      CHECK(same(got, edge.result));
    }
  }
  for (Op op :
       {Op::Sigmoid, Op::Softplus, Op::Silu, Op::Gelu, Op::GeluTanh, Op::Rsqrt, Op::Digamma})
    CHECK(std::isnan(value(op, f64, {nan})));
}

// With the number of arguments; pow is an operator with a name.
const struct {
  const char *name;
  int arity;
} names[] = {
    {"abs", 1},        {"sign", 1},     {"floor", 1},     {"ceil", 1},    {"round", 1},
    {"trunc", 1},      {"sqrt", 1},     {"cbrt", 1},      {"rsqrt", 1},   {"square", 1},
    {"reciprocal", 1}, {"exp", 1},      {"exp2", 1},      {"expm1", 1},   {"log", 1},
    {"log2", 1},       {"log10", 1},    {"log1p", 1},     {"sin", 1},     {"cos", 1},
    {"tan", 1},        {"asin", 1},     {"acos", 1},      {"atan", 1},    {"atan2", 2},
    {"sinh", 1},       {"cosh", 1},     {"tanh", 1},      {"asinh", 1},   {"acosh", 1},
    {"atanh", 1},      {"erf", 1},      {"erfc", 1},      {"lgamma", 1},  {"digamma", 1},
    {"polygamma", 2},  {"sigmoid", 1},  {"softplus", 1},  {"relu", 1},    {"gelu", 1},
    {"gelu_tanh", 1},  {"silu", 1},     {"logaddexp", 2}, {"hypot", 2},   {"pow", 2},
    {"fma", 3},        {"copysign", 2}, {"fmod", 2},      {"maximum", 2}, {"minimum", 2},
    {"fmax", 2},       {"fmin", 2},     {"where", 3},     {"clip", 3},    {"isnan", 1},
    {"isinf", 1},      {"isfinite", 1},
};

TEST_CASE("every function of the language can be called, and gives the same bits in each engine") {
  const std::vector<double> x{-2.5, -1, -0.0, 0.0, 0.25, 1, 3, 40, 1e-300, inf, -inf, nan};
  for (const auto &function : names) {
    INFO(function.name);
    const char *more[] = {"", ", 2", ", 2, 0.5"};
    const std::string text = "kernel k { in x : f64[i]; out z = " + std::string(function.name) +
                             "(x" + more[function.arity - 1] + ") }";
    std::vector<Array> results;
    for (Engine engine : {Engine::automatic, Engine::interpreter, Engine::reference}) {
      Options options;
      options.engine = engine;
      const Kernel kernel = compile(parse(text), options);
      results.push_back(
          kernel({{"x", View<const double>(x.data(), {std::int64_t(x.size())})}})["z"]);
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      INFO("of " << x[i]);
      if (results[0].dtype() == bool_) {
        CHECK(results[0].data<bool>()[i] == results[2].data<bool>()[i]);
        continue;
      }
      CHECK(same(results[0].data<double>()[i], results[1].data<double>()[i]));
      CHECK(same(results[0].data<double>()[i], results[2].data<double>()[i]));
    }
  }
}

TEST_CASE("the functions of C++ are those of the text") {
  auto x = input("x", f64, {"i"});
  const auto printed = [](const Expr &e) { return print(LoopSpec("k").out("z", e)); };
  const auto text = [](const std::string &call) {
    return print(parse("kernel k { in x : f64[i]; out z = " + call + " }"));
  };
  CHECK(printed(rsqrt(x)) == text("rsqrt(x)"));
  CHECK(printed(sigmoid(x)) == text("sigmoid(x)"));
  CHECK(printed(softplus(x)) == text("softplus(x)"));
  CHECK(printed(silu(x)) == text("silu(x)"));
  CHECK(printed(gelu(x)) == text("gelu(x)"));
  CHECK(printed(gelu_tanh(x)) == text("gelu_tanh(x)"));
  CHECK(printed(digamma(x)) == text("digamma(x)"));
  CHECK(printed(polygamma(1, x)) == text("polygamma(1, x)"));
  CHECK(printed(logaddexp(x, 0.5)) == text("logaddexp(x, 0.5)"));
  CHECK(printed(fma(x, x, 1)) == text("fma(x, x, 1)"));
}

} // namespace
} // namespace broadloom
