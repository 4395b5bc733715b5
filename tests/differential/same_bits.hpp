// Comparing whole results bit by bit, and the numbers that steer the random tests.
#pragma once

#include "random_data.hpp"

#include "ops/ops.hpp"

#include <broadloom/broadloom.hpp>

#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace broadloom::differential {

inline constexpr std::uint64_t default_count = 1200; // kernels, where BROADLOOM_FUZZ does not say

inline std::uint64_t from_environment(const char *name, std::uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Where BROADLOOM_TEST_DEVICE names none (tests/gpu/gpu.sh), this processor plays one.
inline std::string device_of_tests() {
  const char *named = std::getenv("BROADLOOM_TEST_DEVICE");
  return named != nullptr && *named != '\0' ? named : "played";
}

using Bytes = std::vector<unsigned char>; // of elements in C order

inline Bytes bytes_of(const Array &array) {
  const Array dense = array.copy();
  const auto *first = static_cast<const unsigned char *>(dense.raw());
  return {first, first + std::size_t(dense.size()) * size_of(dense.dtype())};
}

inline ops::Scalar element(std::span<const unsigned char> bytes, DType dtype, std::size_t k) {
  return ops::load(reinterpret_cast<const char *>(bytes.data()) + k * size_of(dtype), dtype);
}

// In C order, whatever the strides.
inline std::vector<ops::Scalar> elements(const Array &array) {
  const Bytes bytes = bytes_of(array);
  std::vector<ops::Scalar> values;
  for (std::size_t k = 0; k < std::size_t(array.size()); ++k)
    values.push_back(element(bytes, array.dtype(), k));
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
