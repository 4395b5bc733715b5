// f16 and bf16 in native code, for each instruction set: the bits of the scalar conversions, which
// float16_test.cpp has proven.
#include "jit/native/target.hpp"
#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace broadloom {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

// out = To(in) by a kernel, for a length that leaves a partial vector.
template <class To, class From>
std::vector<To> converted(const std::vector<From> &in, const std::string &target) {
  const std::string text = "kernel k { in x : " + std::string(name(dtype_of<From>())) +
                           "[i]; out y = " + std::string(name(dtype_of<To>())) + "(x) }";
  std::vector<To> out(in.size());
  const auto n = std::int64_t(in.size());
  const Kernel kernel = compile(parse(text), {.target = target, .engine = Engine::jit});
  kernel.run({View<const From>(in.data(), {n})}, {View<To>(out.data(), {n})});
  return out;
}

template <class Test> void on_each_target(Test test) {
  for (const std::string &target : jit::targets_here()) {
    INFO(target);
    test(target);
  }
}

template <class T> std::vector<T> all_patterns() {
  std::vector<T> all;
  for (int bits = 0; bits < 65536; ++bits) all.push_back(T::from_bits(std::uint16_t(bits)));
  return all;
}

// The doubles at and beside each value of T and each middle between two, and whatever f32 sees
// there.
template <class T> std::vector<double> boundaries() {
  std::vector<double> values;
  for (const T low : all_patterns<T>()) {
    const T high = T::from_bits(std::uint16_t(low.bits() + 1));
    if (!std::isfinite(float(low)) || (low.bits() & 0x8000) != 0) continue;
    const double a = float(low), b = std::isfinite(float(high)) ? float(high) : a * 1.01;
    for (const double x : {a, a + (b - a) / 2, b})
      for (const double y : {x, std::nextafter(x, 0.0), std::nextafter(x, double(inf))})
        values.insert(values.end(), {y, -y});
  }
  const double nan = std::nan("");
  values.insert(values.end(), {double(inf), -double(inf), nan, 1e300, -1e300, 5e-324, -0.0});
  return values;
}

template <class T, class From> int count_wrong(const std::vector<From> &in, const std::string &to) {
  const std::vector<T> out = converted<T>(in, to);
  int wrong = 0;
  for (std::size_t k = 0; k < in.size(); ++k) {
    const T expected(double{in[k]});
    const bool both_nan = std::isnan(float(expected)) && std::isnan(float(out[k]));
    wrong += !both_nan && expected.bits() != out[k].bits();
  }
  return wrong;
}

TEST_CASE_TEMPLATE("every f16 and bf16 widens to its value in native code", T, float16, bfloat16) {
  on_each_target([](const std::string &target) {
    const std::vector<T> all = all_patterns<T>();
    const std::vector<float> wide = converted<float>(all, target);
    const std::vector<double> wider = converted<double>(all, target);
    for (std::size_t k = 0; k < all.size(); ++k) {
      const float value = all[k];
      const bool equal =
          std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(wide[k]);
      if (std::isnan(value) ? !std::isnan(wide[k]) : !equal) FAIL_CHECK(k);
      if (std::isnan(value) ? !std::isnan(wider[k]) : wider[k] != double(value)) FAIL_CHECK(k);
    }
  });
}

TEST_CASE_TEMPLATE("f64 rounds once in native code, at every boundary", T, float16, bfloat16) {
  on_each_target([](const std::string &target) {
    const int wrong = count_wrong<T>(boundaries<T>(), target);
    CHECK(wrong == 0);
  });
}

TEST_CASE_TEMPLATE("f32 rounds to nearest even in native code", T, float16, bfloat16) {
  std::vector<float> values;
  for (const double x : boundaries<T>()) values.push_back(float(x));
  for (std::uint64_t bits = 0; bits < std::uint64_t(1) << 32; bits += 997)
    values.push_back(std::bit_cast<float>(std::uint32_t(bits)));
  on_each_target([&](const std::string &target) {
    const int wrong = count_wrong<T>(values, target);
    CHECK(wrong == 0);
  });
}

TEST_CASE("64-bit integers round to bf16 once in native code") {
  std::vector<std::int64_t> values;
  for (int exponent = 50; exponent < 63; ++exponent)
    for (std::int64_t mantissa = 256; mantissa < 512; ++mantissa)
      for (std::int64_t off = -2; off <= 2; ++off)
        for (const std::int64_t sign : {1, -1})
          values.push_back(sign * ((mantissa << (exponent - 8)) + off));
  on_each_target([&](const std::string &target) {
    const std::vector<bfloat16> out = converted<bfloat16>(values, target);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const long double exact = values[k], got = float(out[k]);
      const auto beside = [&](int step) {
        return (long double)float(bfloat16::from_bits(std::uint16_t(out[k].bits() + step)));
      };
      const long double error = std::fabs(got - exact);
      const bool tie =
          error == std::fabs(beside(1) - exact) || error == std::fabs(beside(-1) - exact);
      if (error > std::fabs(beside(1) - exact) || error > std::fabs(beside(-1) - exact) ||
          (tie && (out[k].bits() & 1) != 0))
        FAIL_CHECK(values[k]);
    }
  });
}

TEST_CASE("f16 and bf16 compute in f32, and only a cast and the store round") {
  const std::vector<float16> x{float16(2048), float16(60000)}, y{float16(1), float16(60000)};
  const Kernel kernel = compile(parse(R"(kernel k {
    in x : f16[i]; in y : f16[i]
    let s = x + y
    out back = s - y
    out cast = f16(s) - y
    out sum = s
    out half = s / 2
  })"));
  const std::int64_t n = 2;
  const Results r = kernel(
      {{"x", View<const float16>(x.data(), {n})}, {"y", View<const float16>(y.data(), {n})}});
  for (const char *out : {"back", "cast", "sum", "half"}) CHECK(r[out].dtype() == f16);
  auto element = [&](const char *out, int k) { return float(r[out].data<float16>()[k]); };
  CHECK(element("back", 0) == 2048);
  CHECK(element("cast", 0) == 2047); // 2049 is no f16: 2048 - 1
  CHECK(element("sum", 0) == 2048);
  CHECK(element("sum", 1) == inf); // 120000 is too large for f16,
  CHECK(element("back", 1) == 60000);
  CHECK(element("cast", 1) == inf);
  CHECK(element("half", 1) == 60000); // but not for f32
}

TEST_CASE(
    "an inner reduction of f16 rounds, one that is the whole output rounds to its dtype only") {
  std::vector<float16> x(3000, float16(1));
  const Kernel kernel = compile(parse(R"(kernel k {
    in x : f16[i]
    out wide : f32 = sum(x)
    out inner : f32 = sum(x) + f32(0)
    out own = sum(x)
    out average = mean(x)
    out top = max(x + 0.0001)
  })"));
  const Results r = kernel({{"x", View<const float16>(x.data(), {2999})}});
  CHECK(r["wide"].data<float>()[0] == 2999);
  CHECK(r["inner"].data<float>()[0] == 3000);
  CHECK(r["own"].dtype() == f16);
  CHECK(float(r["own"].data<float16>()[0]) == 3000);
  CHECK(float(r["average"].data<float16>()[0]) == 1);
  CHECK(float(r["top"].data<float16>()[0]) == 1);
}

TEST_CASE("+= of f16 adds in f32 and rounds once") {
  float16 z[1] = {float16(2048)};
  const double x[1] = {1.0004};
  const Kernel kernel = compile(parse("kernel k { in x : f64[i]; out z : f16 += x * 1 }"));
  kernel.run({View<const double>(x, {1})}, {View<float16>(z, {1})});
  CHECK(float(z[0]) == 2050); // 1.0004 itself is not rounded to f16, which would give 2048
}

} // namespace
} // namespace broadloom
