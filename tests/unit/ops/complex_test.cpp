// Complex numbers: one element at a time against NumPy 2 and long double, then whole kernels.
#include "ops/complex.hpp"
#include "ops/ops.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace broadloom {
namespace {

using ops::Op;
using ops::Scalar;
using C128 = std::complex<double>;
using C64 = std::complex<float>;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Scalar scalar(C128 z) { return {ops::scalar_from(z.real()).bits, ops::scalar_from(z.imag()).bits}; }
C128 number(Scalar s) { return {ops::as_f64({s.bits}), ops::as_f64({s.imag})}; }

C128 evaluate(Op op, C128 x, C128 y = 0) {
  const Scalar args[] = {scalar(x), scalar(y)};
  return number(ops::evaluate(op, c128, args));
}
C64 evaluate(Op op, C64 x, C64 y = 0) {
  auto narrow = [](C64 z) {
    return Scalar{ops::scalar_from(z.real()).bits, ops::scalar_from(z.imag()).bits};
  };
  const Scalar args[] = {narrow(x), narrow(y)};
  const Scalar s = ops::evaluate(op, c64, args);
  return {ops::as_f32({s.bits}), ops::as_f32({s.imag})};
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}
// The same, but for two units in the last place of a number that is not special.
bool close(double a, double b) {
  return same(a, b) || (std::fabs(a - b) <= 4.5e-16 * std::fabs(b) && b != 0);
}

struct Row {
  Op op;
  C128 x, y, result;
};
const Row rows[] = {
#define BL_ROW(op, x_re, x_im, y_re, y_im, re, im) {Op::op, {x_re, x_im}, {y_re, y_im}, {re, im}},
#include "tests/unit/ops/evaluate_complex.inc"
#undef BL_ROW
};

TEST_CASE("complex products, quotients and special values are NumPy's") {
  for (const Row &row : rows) {
    const C128 got = evaluate(row.op, row.x, row.y);
    INFO(ops::info(row.op).enumerator << " " << row.x << " " << row.y << " gives " << got
                                      << ", not " << row.result);
    const bool arithmetic = row.op == Op::Mul || row.op == Op::Div;
    CHECK(
        (arithmetic ? same(got.real(), row.result.real()) : close(got.real(), row.result.real())));
    CHECK(
        (arithmetic ? same(got.imag(), row.result.imag()) : close(got.imag(), row.result.imag())));
  }
}

using Long = std::complex<long double>;
struct Function {
  Op op;
  Long (*truth)(const Long &);
};
const Function functions[] = {{Op::Sqrt, std::sqrt}, {Op::Exp, std::exp}, {Op::Log, std::log},
                              {Op::Sin, std::sin},   {Op::Cos, std::cos}, {Op::Tanh, std::tanh}};

TEST_CASE("complex functions are right to a few units in the last place of their size") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (const Function &f : functions) {
    double worst = 0, worst_narrow = 0;
    for (int k = 0; k < 20000; ++k) {
      const double scale = std::ldexp(1, int(random() % 12) - 6);
      const C128 z(unit(random) * scale, unit(random) * scale);
      const Long truth = f.truth(Long(z.real(), z.imag())), got(evaluate(f.op, z));
      worst = std::max(worst, double(std::abs(got - truth) / std::abs(truth)));
      const C64 narrow{z};
      const Long narrow_truth = f.truth(Long(narrow.real(), narrow.imag()));
      const Long narrow_got(evaluate(f.op, narrow));
      if (std::abs(narrow_truth) < 3e38L)
        worst_narrow = std::max(
            worst_narrow, double(std::abs(narrow_got - narrow_truth) / std::abs(narrow_truth)));
    }
    INFO(ops::info(f.op).spelling);
    CHECK(worst < 16 * 0x1p-53);
    CHECK(worst_narrow < 1.5 * 0x1p-24);
  }
}

TEST_CASE("complex exp, log and sqrt keep their range") {
  const C128 big = evaluate(Op::Exp, C128(709.9, 1.5707963267948966));
  CHECK(std::isfinite(big.real()));
  CHECK(evaluate(Op::Log, C128(1.5e308, 1.5e308)).real() == doctest::Approx(709.9482473405542));
  CHECK(std::abs(evaluate(Op::Sqrt, C128(1.5e308, 1.5e308))) ==
        doctest::Approx(1.4564753151219703e154));
  CHECK(evaluate(Op::Sqrt, C128(3e-323, 4e-323)).real() ==
        doctest::Approx(6.35e-162).epsilon(0.01));
  CHECK(evaluate(Op::Log, C64(1.0f, 1e-4f)).real() == doctest::Approx(5e-9).epsilon(1e-6));
}

TEST_CASE("complex signs, powers and truths at the edges") {
  CHECK(evaluate(Op::Sign, C128(3, -4)) == C128(0.6, -0.8));
  CHECK(evaluate(Op::Sign, C128(0, -0.0)) == C128(0, 0));
  CHECK(evaluate(Op::Sign, C128(-inf, 5)) == C128(-1, 0));
  CHECK(std::isnan(evaluate(Op::Sign, C128(inf, inf)).real()));
  CHECK(evaluate(Op::Pow, C128(0, 0), C128(0, 0)) == C128(1, 0));
  CHECK(evaluate(Op::Pow, C128(0, 0), C128(2, 0)) == C128(0, 0));
  CHECK(std::isnan(evaluate(Op::Pow, C128(0, 0), C128(-1, 0)).real()));
  CHECK(std::abs(evaluate(Op::Pow, C128(0, 1), C128(0, 1)) - std::exp(-1.5707963267948966)) <
        1e-15);
  auto truth = [](Op op, C128 x, C128 y = 0) {
    const Scalar args[] = {scalar(x), scalar(y)};
    return ops::evaluate(op, c128, args).bits == 1;
  };
  CHECK(truth(Op::Eq, C128(0.0, -0.0), C128(-0.0, 0.0)));
  CHECK(truth(Op::Ne, C128(nan, 0), C128(nan, 0)));
  CHECK(truth(Op::IsNan, C128(1, nan)));
  CHECK(truth(Op::IsInf, C128(nan, -inf)));
  CHECK_FALSE(truth(Op::IsFinite, C128(1, nan)));
  CHECK(ops::convert(scalar(C128(0, 5)), c128, bool_).bits == 1);
  CHECK(ops::convert(scalar(C128(-0.0, 0)), c128, bool_).bits == 0);
}

TEST_CASE("what a complex operation is made of is known, for the sake of why") {
  CHECK(ops::complex::made_of(Op::Abs) == std::vector{Op::Hypot});
  CHECK(ops::complex::made_of(Op::Mul).empty());
  const std::vector<Op> log = ops::complex::made_of(Op::Log);
  CHECK(std::count(log.begin(), log.end(), Op::Atan2) == 1);
}

TEST_CASE("the type rules of complex numbers are NumPy's") {
  auto typing = [](Op op, std::vector<DType> args) { return ops::type_of(op, args); };
  CHECK(typing(Op::Abs, {c64}).result == f32);
  CHECK(typing(Op::Imag, {c128}).result == f64);
  CHECK(typing(Op::Real, {i8}).result == i8);
  CHECK(typing(Op::Conj, {c64}).result == c64);
  CHECK(typing(Op::Eq, {c64, f64}).compute == c128);
  CHECK(typing(Op::Div, {i16, c64}).result == c64);
  for (Op op :
       {Op::Lt, Op::Maximum, Op::Fmin, Op::FloorDiv, Op::Mod, Op::Floor, Op::Atan2, Op::Clip})
    CHECK_FALSE(
        typing(op, std::vector<DType>(std::size_t(ops::info(op).arity), c64)).error.empty());
  CHECK(ops::accumulate_dtype(Fold::Sum, c64) == c128);
  CHECK(ops::result_dtype(Fold::Mean, c64) == c64);
}

TEST_CASE("a kernel computes with complex numbers as it does with others") {
  const std::vector<C64> x{{1, 2}, {3, -4}, {0, 1}};
  const Kernel kernel = compile(parse(R"(kernel k {
    in x : c64[i]
    out size = abs(x)
    out turned = x * conj(x) + 1.5
    out cube = x ^ 3
    out inverse = x ^ -1
    out total = sum(x)
    out average = mean(x)
    out some = any(x == 0)
    out wide : c128 = sum(x * 1e-3)
    out part = real(x) - imag(x)
    out root = sqrt(c64(-4))
  })"));
  const Results r = kernel({{"x", View<const C64>(x.data(), {3})}});
  CHECK(r["size"].data<float>()[1] == 5);
  CHECK(r["turned"].data<C64>()[0] == C64(6.5, 0));
  CHECK(r["cube"].data<C64>()[0] == C64(-11, -2));
  CHECK(r["inverse"].data<C64>()[2] == C64(0, -1));
  CHECK(r["total"].data<C64>()[0] == C64(4, -1));
  CHECK(std::abs(r["average"].data<C64>()[0] - C64(4, -1) / 3.0f) < 1e-6f);
  CHECK_FALSE(r["some"].data<bool>()[0]);
  CHECK(r["wide"].dtype() == c128);
  CHECK(r["part"].data<float>()[1] == 7);
  CHECK(r["root"].data<C64>()[0] == C64(0, 2));
}

TEST_CASE("halves and complex numbers go through the C++ API") {
  const Expr x = input("x", c64, {"i"}), h = input("h", f16, {"i"});
  const Kernel kernel = compile(LoopSpec("k")
                                    .out("size", real(x * conj(x)) + imag(x) - imag(x))
                                    .out("same", cast(c128, x) == x)
                                    .out("low", cast(bf16, h * 0.1)));
  const C64 xs[] = {{3, 4}};
  const float16 hs[] = {float16(10)};
  const Results r = kernel({{"x", View<const C64>(xs, {1})}, {"h", View<const float16>(hs, {1})}});
  CHECK(r["size"].data<float>()[0] == 25);
  CHECK(r["same"].data<bool>()[0]);
  CHECK(float(r["low"].data<bfloat16>()[0]) == 1);
}

TEST_CASE("a complex number to the power 0 is 1 at each of its elements") {
  const std::vector<C128> x{{0, 0}, {1, 2}, {nan, 0}, {inf, 1}};
  for (const Engine engine : {Engine::jit, Engine::interpreter, Engine::reference}) {
    const Results r = compile(parse("kernel k { in x : c128[i, j]; out z = x ^ 0 }"),
                              {.engine = engine})({{"x", View<const C128>(x.data(), {2, 2})}});
    REQUIRE(r["z"].rank() == 2);
    for (int k = 0; k < 4; ++k) CHECK(r["z"].data<C128>()[k] == C128(1, 0));
  }
}

// One thread folds a column in chunks, as its plan is another one. 1+0j, which a product begins
// with, times z has other zeros.
TEST_CASE("a product of complex numbers has the same bits on any number of threads, the signs of "
          "zeros too") {
  constexpr int rows = 129, columns = 64;
  const double parts[] = {0, 0.5, -0.5, 1, 1, -1, 2, -2, -0.0};
  std::vector<C64> z;
  for (unsigned k = 0, state = 1; k < rows * columns; ++k) {
    const auto part = [&] {
      return float(parts[((state = state * 1664525 + 1013904223) >> 16) % 9]);
    };
    const float re = part();
    z.emplace_back(re, part());
  }
  const LoopSpec spec = parse("kernel k { in z : c64[j, i]; out o[i] = accumulate(prod) z }");
  const auto bits = [&](const Options &options) {
    const Results r = compile(spec, options)({{"z", View<const C64>(z.data(), {rows, columns})}});
    const auto *bytes = reinterpret_cast<const char *>(r["o"].data<C64>());
    return std::string(bytes, columns * sizeof(C64));
  };
  const std::string one = bits({.threads = 1, .engine = Engine::jit});
  for (const int threads : {1, 2, 3})
    for (const Engine engine : {Engine::jit, Engine::interpreter})
      CHECK(bits({.threads = threads, .engine = engine}) == one);
}

} // namespace
} // namespace broadloom
