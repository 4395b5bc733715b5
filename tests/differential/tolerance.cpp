// See tolerance.hpp.
#include "tolerance.hpp"

#include "same_bits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace broadloom::differential {
namespace {

bool is_exact(DType dtype) { return !is_float(dtype) && !is_complex(dtype); }

double as_double(std::uint64_t part, DType dtype) {
  return ops::as_f64(ops::convert({part}, real_dtype(dtype), DType::F64));
}

double last_rounding(double y, DType dtype) {
  switch (real_dtype(dtype)) {
  case DType::F16: return 0x1p-11 * std::fabs(y) + 0x1p-25;
  case DType::BF16: return 0x1p-8 * std::fabs(y) + 0x1p-134;
  case DType::F32: return 0x1p-24 * std::fabs(y) + 0x1p-149;
  default: return 0;
  }
}

bool part_within_bound(double x, double y, DType dtype, double sum) {
  const double largest = dtype == DType::F16 ? 65504 : std::numeric_limits<double>::max();
  if (!std::isfinite(sum) || !std::isfinite(x) || !std::isfinite(y))
    return !std::isfinite(sum) || sum >= largest / 4;
  return std::fabs(x - y) <= 64 * 0x1p-53 * sum + 2 * last_rounding(y, dtype);
}

} // namespace

bool within_bound(ops::Scalar a, ops::Scalar b, DType dtype, ops::Scalar absolute) {
  const double sum = ops::as_f64(absolute);
  return part_within_bound(as_double(a.bits, dtype), as_double(b.bits, dtype), dtype, sum) &&
         part_within_bound(as_double(a.imag, dtype), as_double(b.imag, dtype), dtype, sum);
}

bool loosely_equal(ops::Scalar a, ops::Scalar b, DType dtype, double greatest) {
  if (is_exact(dtype)) return false;
  const double share = size_of(real_dtype(dtype)) == 2 ? 1e-2 : 1e-5;
  const auto near = [&](std::uint64_t x, std::uint64_t y) {
    const double u = as_double(x, dtype), v = as_double(y, dtype);
    if (!std::isfinite(u) || !std::isfinite(v)) return std::isnan(u) == std::isnan(v);
    return std::fabs(u - v) <= share * (std::fabs(v) + greatest);
  };
  return near(a.bits, b.bits) && (!is_complex(dtype) || near(a.imag, b.imag));
}

double greatest_of(std::span<const unsigned char> bytes, DType dtype) {
  double greatest = 0;
  if (is_exact(dtype)) return greatest;
  for (std::size_t k = 0; k * size_of(dtype) < bytes.size(); ++k) {
    const double value = std::fabs(as_double(element(bytes, dtype, k).bits, dtype));
    if (std::isfinite(value)) greatest = std::max(greatest, value);
  }
  return greatest;
}

bool within_moves(ops::Scalar got, ops::Scalar expected, DType dtype,
                  std::span<const ops::Scalar> moved) {
  if (is_exact(dtype)) return false;
  const auto apart = [&](std::uint64_t a, std::uint64_t b) {
    return std::fabs(as_double(a, dtype) - as_double(b, dtype));
  };
  double most = 0, most_imag = 0;
  for (const ops::Scalar now : moved) {
    most = std::max(most, apart(now.bits, expected.bits));
    most_imag = std::max(most_imag, apart(now.imag, expected.imag));
  }
  return apart(got.bits, expected.bits) <= 4 * most &&
         (!is_complex(dtype) || apart(got.imag, expected.imag) <= 4 * most_imag);
}

} // namespace broadloom::differential
