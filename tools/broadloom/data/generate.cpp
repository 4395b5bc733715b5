// What rand, randn, zeros, ones, arange, full, eye and linspace make.
//
// The standard library's engine gives the same bits everywhere; its distributions do not, nor does
// a C library's logarithm. So the distributions here use only correctly rounded operations: a seed
// means the same numbers on every machine.
#include "tools/broadloom/cli/usage.hpp"
#include "tools/broadloom/data/free_memory.hpp"
#include "tools/broadloom/data/source.hpp"

#include "support/element.hpp"
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <type_traits>
#include <utility>

namespace broadloom::cli {

using support::is_complex_type;
using support::with_type;

namespace {

// FNV-1a: a seed from the input's name.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (char c : text) value = (value ^ std::uint8_t(c)) * 0x100000001b3;
  return value;
}

// The natural logarithm of a normal x, to about 1e-16: x = m 2^e with m near 1, then the series of
// 2 atanh((m - 1) / (m + 1)).
double logarithm(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * s * sum + exponent * 0.69314718055994531;
}

class Random {
public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  template <class T> T uniform() {
    if constexpr (is_complex_type<T>) { // either part
      const auto re = uniform<typename T::value_type>();
      return T(re, uniform<typename T::value_type>());
    } else {
      return uniform_real<T>();
    }
  }

  template <class T> T uniform_real() {
    if constexpr (std::is_same_v<T, bool>) return engine_() >> 63;
    if constexpr (std::is_integral_v<T>) return T((engine_() >> 32) * 100 >> 32); // 0 to 99
    if constexpr (std::is_same_v<T, float16>) return T(double(engine_() >> 53) * 0x1p-11);
    if constexpr (std::is_same_v<T, bfloat16>) return T(double(engine_() >> 56) * 0x1p-8);
    if constexpr (std::is_same_v<T, float>) return float(engine_() >> 40) * 0x1p-24f;
    return T(double(engine_() >> 11) * 0x1p-53);
  }

  template <class T> T normal() {
    if constexpr (is_complex_type<T>) {
      using Part = typename T::value_type;
      const double re = normal();
      return T(Part(re), Part(normal()));
    } else {
      return T(normal());
    }
  }

  // Marsaglia's polar method: a point in the unit disc gives two independent normal numbers.
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double x = 0, y = 0, square = 0;
    do {
      x = 2 * uniform<double>() - 1;
      y = 2 * uniform<double>() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double scale = std::sqrt(-2 * logarithm(square) / square);
    spare_ = y * scale;
    has_spare_ = true;
    return x * scale;
  }

private:
  std::mt19937_64 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

template <class T> void fill(const Array &array, const GeneratorSource &source, Random random) {
  T *data = array.data<T>();
  const std::int64_t count = array.size();
  switch (source.generator) {
  case Generator::Zeros: return; // as every new array
  case Generator::Ones:
    for (std::int64_t i = 0; i < count; ++i) data[i] = T(1);
    return;
  case Generator::Arange:
    for (std::int64_t i = 0; i < count; ++i) data[i] = T(source.start + i * source.step);
    return;
  case Generator::Eye:
    for (std::int64_t i = 0; i < std::min(source.extents[0], source.extents[1]); ++i)
      data[i * source.extents[1] + i] = T(1);
    return;
  case Generator::Linspace: // both ends are met exactly
    for (std::int64_t i = 0; i < count; ++i) {
      const double part = count > 1 ? double(i) / double(count - 1) : 0;
      data[i] = T(i + 1 == count && count > 1 ? source.to
                                              : source.from + part * (source.to - source.from));
    }
    return;
  case Generator::Full: return; // by its number
  case Generator::Rand:
    for (std::int64_t i = 0; i < count; ++i) data[i] = random.uniform<T>();
    return;
  case Generator::Randn:
    for (std::int64_t i = 0; i < count; ++i) data[i] = random.normal<T>();
    return;
  }
}

// Whether the dtype has a number of arange.
template <class T> bool fits(std::int64_t number) {
  if constexpr (std::is_same_v<T, bool>)
    return number == 0 || number == 1;
  else if constexpr (std::is_integral_v<T>)
    return std::in_range<T>(number);
  else
    return true;
}

} // namespace

Array generate(const GeneratorSource &source, const Target &target) {
  require_memory(bytes_of(element_count(contiguous_layout(source.extents)),
                          std::int64_t(size_of(target.dtype))),
                 "input '" + target.name + "'");
  return with_type(target.dtype, [&](auto zero) {
    using T = decltype(zero);
    if (source.generator == Generator::Randn && !is_float(target.dtype) &&
        !is_complex(target.dtype)) {
      throw UsageError(
          "E0403",
          fmt::format("input {}: randn makes floats and complex numbers, and the input is {}",
                      target.name, name(target.dtype)),
          "use rand(..), which gives 0 to 99 for integers");
    }
    const std::int64_t last =
        source.extents.empty() ? 0 : source.start + (source.extents[0] - 1) * source.step;
    if (source.generator == Generator::Arange && source.extents[0] > 0 &&
        (!fits<T>(source.start) || !fits<T>(last)))
      throw UsageError("E0403",
                       fmt::format("input {}: {} of arange(..) does not fit in {}", target.name,
                                   fits<T>(source.start) ? last : source.start, name(target.dtype)),
                       "make it shorter, or declare the input with a wider dtype");
    if (source.generator == Generator::Linspace && !is_float(target.dtype) &&
        !is_complex(target.dtype))
      throw UsageError("E0403",
                       fmt::format("input {}: linspace makes floats, and the input is {}",
                                   target.name, name(target.dtype)),
                       "use arange(..), which counts");
    Array array(target.dtype, source.extents);
    fill<T>(array, source, Random(source.seed.value_or(hash(target.name))));
    return array;
  });
}

} // namespace broadloom::cli
