// Arrays of numbers for blocks of kernels, and calls with them.
#pragma once

#include <broadloom/broadloom.hpp>

#include <cmath>
#include <random>
#include <vector>

namespace broadloom::tests {

inline Array numbers(std::vector<std::int64_t> shape, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> exponent(-8, 8);
  Array array(f64, shape);
  for (std::int64_t k = 0; k < array.size(); ++k)
    array.data<double>()[k] = (random() % 2 == 0 ? 1 : -1) * std::pow(10.0, exponent(random));
  return array;
}

inline std::vector<Layout> layouts_of(const std::vector<Array> &arrays) {
  std::vector<Layout> layouts;
  for (const Array &array : arrays) layouts.push_back(contiguous_layout(array.shape()));
  return layouts;
}

inline Layout dense(std::vector<std::int64_t> shape) { return contiguous_layout(shape); }

inline Results call(const Kernel &kernel, const std::vector<Array> &inputs) {
  const std::vector<InputInfo> infos = kernel.inputs(); // whose names the views only point to
  std::vector<NamedView> views;
  for (std::size_t i = 0; i < inputs.size(); ++i) views.push_back({infos[i].name, inputs[i]});
  return kernel.call(views);
}

} // namespace broadloom::tests
