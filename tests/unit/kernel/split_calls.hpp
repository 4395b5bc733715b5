// Calls that are made in parts: from how many bytes on, and on what data.
#pragma once

#include "all_engines.hpp"

#include <cstdlib>

namespace broadloom::tests {

// Calls are split from so many bytes on, while this lives.
struct SplitFrom {
  explicit SplitFrom(const char *bytes) { setenv("BROADLOOM_SPLIT", bytes, 1); }
  ~SplitFrom() { unsetenv("BROADLOOM_SPLIT"); }
};

// Whole numbers, which every order of adding them up sums to the same, or fractions, which it does
// not.
inline Array counted(std::vector<std::int64_t> shape, double by = 1) {
  Array array(DType::F64, shape);
  for (std::int64_t k = 0; k < array.size(); ++k)
    array.data<double>()[k] = (double(k * 7 % 31) - 11) * by;
  return array;
}

// Does `why` have a decision of this code?
inline bool has(const Kernel &kernel, const std::string &code) {
  const std::vector<Decision> why = kernel.why();
  return std::any_of(why.begin(), why.end(), [&](const Decision &d) { return d.code == code; });
}

using Inputs = std::vector<std::pair<std::string, Array>>;
inline std::vector<NamedView> views(const Inputs &inputs) {
  std::vector<NamedView> result;
  for (const auto &[name, array] : inputs) result.push_back({name, array});
  return result;
}

} // namespace broadloom::tests
