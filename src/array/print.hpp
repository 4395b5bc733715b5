// How many digits an array is printed with; `print` of array.hpp takes as many as tell a number
// from others.
#pragma once

#include <broadloom/array.hpp>

#include <string>

namespace broadloom::array {

// `digits`: of a float or of each part of a complex number, at most, where they count; 0: as
// `print`.
std::string print_digits(const Array &array, int columns, int digits);

} // namespace broadloom::array
