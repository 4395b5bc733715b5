// What the axis of an unlabelled dim is called where nothing but positions reads the array: h_0 and
// h_1 of h[:, :].
#pragma once

#include <cstddef>
#include <string>

namespace broadloom::spec {

inline std::string own_axis(const std::string &array, std::size_t dim) {
  return array + "_" + std::to_string(dim);
}

} // namespace broadloom::spec
