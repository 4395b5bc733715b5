// Comparing whole results bit by bit, and the numbers that steer the random tests.
#pragma once

#include "random_data.hpp"

#include "ops/ops.hpp"

#include <broadloom/broadloom.hpp>

#include <cstdlib>
#include <vector>

namespace broadloom::differential {

inline constexpr std::uint64_t default_count = 2000; // kernels, where BROADLOOM_FUZZ does not say

inline std::uint64_t from_environment(const char *name, std::uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// The elements in C order, whatever the strides.
inline std::vector<ops::Scalar> elements(const Array &array) {
  const Array dense = array.copy();
  std::vector<ops::Scalar> values;
  for (std::int64_t k = 0; k < dense.size(); ++k)
    values.push_back(
        ops::load(static_cast<const char *>(dense.raw()) + k * std::int64_t(size_of(dense.dtype())),
                  dense.dtype()));
  return values;
}

inline bool same_bits(const Array &a, const Array &b) {
  if (a.dtype() != b.dtype() || a.rank() != b.rank()) return false;
  for (int d = 0; d < a.rank(); ++d)
    if (a.shape()[std::size_t(d)] != b.shape()[std::size_t(d)]) return false;
  const std::vector<ops::Scalar> x = elements(a), y = elements(b);
  for (std::size_t k = 0; k < x.size(); ++k)
    if (!same(x[k], y[k], a.dtype())) return false;
  return true;
}

} // namespace broadloom::differential
