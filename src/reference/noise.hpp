// What evaluate_shaken does to the elements that a fold reads.
#pragma once

#include "ops/ops.hpp"

#include <broadloom/array.hpp>

#include <cmath>
#include <cstdint>
#include <random>

namespace broadloom::reference {

// Moves elements at random. Half of the draws move all by one sign: errors may add up.
class Noise {
public:
  explicit Noise(std::uint64_t seed) : engine_(seed), together_(engine_() % 2 != 0) {
    sign_ = engine_() % 2 != 0 ? 1 : -1;
  }

  // By up to `units` units of what folds of this type accumulate in, which is no type narrower than
  // f32.
  void shake(Array &elements, double units) {
    const DType dtype = elements.dtype(), real = real_dtype(dtype);
    if (!is_float(real)) return;
    const double unit = real == DType::F64 ? 0x1p-53 : 0x1p-24;
    char *at = static_cast<char *>(elements.raw());
    for (std::int64_t k = 0; k < elements.size(); ++k, at += size_of(dtype)) {
      ops::Scalar element = ops::load(at, dtype);
      element.bits = moved(element.bits, real, units * unit);
      if (is_complex(dtype)) element.imag = moved(element.imag, real, units * unit);
      ops::store(at, dtype, element);
    }
  }

private:
  std::uint64_t moved(std::uint64_t bits, DType real, double most) {
    const double x = ops::as_f64(ops::convert({bits}, real, DType::F64));
    const double draw = double(engine_() >> 11) * 0x1p-53; // below 1
    const double by = together_ ? sign_ * (0.5 + draw / 2) : 2 * draw - 1;
    const double to = x + std::fabs(x) * most * by;
    if (!std::isfinite(to)) return bits;
    return ops::convert(ops::scalar_from(to), DType::F64, real).bits;
  }

  std::mt19937_64 engine_;
  bool together_;
  double sign_ = 1;
};

// Of the factors of a product those that make it larger, or smaller: their sizes, and 1 for all
// others.
inline Array factors(const Array &elements, bool larger) {
  Array made = elements.copy();
  const DType dtype = made.dtype(), real = real_dtype(dtype);
  const auto part = [&](std::uint64_t bits) {
    return ops::as_f64(ops::convert({bits}, real, DType::F64));
  };
  char *at = static_cast<char *>(made.raw());
  for (std::int64_t k = 0; k < made.size(); ++k, at += size_of(dtype)) {
    const ops::Scalar element = ops::load(at, dtype);
    const double size =
        std::hypot(part(element.bits), is_complex(dtype) ? part(element.imag) : 0.0);
    const bool counts = std::isfinite(size) && size != 0 && (size > 1) == larger;
    ops::store(at, dtype, ops::convert(ops::scalar_from(counts ? size : 1.0), DType::F64, dtype));
  }
  return made;
}

} // namespace broadloom::reference
