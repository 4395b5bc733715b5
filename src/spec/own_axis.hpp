// What the axis of an unlabelled dim is called where nothing but positions reads the array: h_0 and
// h_1 of h[:, :].
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace broadloom::spec {

inline std::string own_axis(const std::string &array, std::size_t dim) {
  return array + "_" + std::to_string(dim);
}

inline std::vector<std::string> own_axes(const std::string &array, std::size_t rank) {
  std::vector<std::string> axes;
  for (std::size_t dim = 0; dim < rank; ++dim) axes.push_back(own_axis(array, dim));
  return axes;
}

} // namespace broadloom::spec
