// The error of a result in units of the last place, and what arguments functions are tried on.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace broadloom::tests {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

// |result - exact| in ulps of the exact value; beyond the largest finite value the ulp stays, and
// so it does below `least`.
template <class T> double ulps(T result, long double exact, double least = 0) {
  using Limits = std::numeric_limits<T>;
  constexpr double wrong = 1e30;
  if (std::isnan(result) || std::isnan(exact))
    return std::isnan(result) && std::isnan(exact) ? 0 : wrong;
  const auto bounded = [](long double x) {
    const long double limit = std::ldexp(1.0L, Limits::max_exponent);
    return std::clamp(x, -limit, limit);
  };
  if (result == exact) return std::signbit(result) == std::signbit(exact) ? 0 : wrong;
  if (std::isinf(exact)) return std::isinf(result) && (result > 0) == (exact > 0) ? 0 : wrong;
  const long double from = bounded(exact);
  const long double size = std::max<long double>(std::fabs(from), least);
  const int exponent = std::clamp(size == 0 ? Limits::min_exponent - 1 : std::ilogb(size),
                                  Limits::min_exponent - 1, Limits::max_exponent - 1);
  const long double ulp = std::ldexp(1.0L, exponent - Limits::digits + 1);
  return static_cast<double>(std::fabs(bounded(result) - from) / ulp);
}

// The sign and the payload of a NaN are nobody's promise: compilers swap operands.
template <class T> bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0 || (std::isnan(a) && std::isnan(b));
}

inline std::vector<float> f32_stride() {
  std::vector<float> result;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 10007)
    result.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return result;
}

inline std::vector<double> f64_samples() {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<double> result;
  for (int i = 0; i < 40000; ++i) result.push_back(std::bit_cast<double>(random()));
  for (double range : {1e-300, 1e-8, 1e-2, 0.5, 1.0, 3.0, 25.0, 750.0, 1e5, 2e9, 1e18})
    for (int i = 0; i < 5000; ++i) result.push_back(unit(random) * range);
  for (int i = 0; i < 10000; ++i) {
    result.push_back(1 + std::ldexp(unit(random), -(i % 53)));
    const double turns = static_cast<double>(random() >> (random() % 60));
    result.push_back(turns * 1.5707963267948966);
    result.push_back(-708 - 38 * std::fabs(unit(random)));
    result.push_back(std::ldexp(unit(random), -1022));
  }
  for (double edge : {0.0, 1.0, 1.4142135623730951, 16.0, 22.0, 709.782712893384, 745.1332191019412,
                      0x1p30, 0x1p-1022, 0x1p-1074, 0x1.fffffffffffffp1023, inf, quiet_nan,
                      6381956970095103.0 * 0x1p797}) {
    double below = edge;
    double above = edge;
    for (int i = 0; i < 20; ++i) {
      for (double x : {below, above, -below, -above}) result.push_back(x);
      below = std::nextafter(below, -inf);
      above = std::nextafter(above, inf);
    }
  }
  return result;
}

} // namespace broadloom::tests
