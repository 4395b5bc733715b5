// Arrays as text, for people.
#pragma once

#include <broadloom/array.hpp>

#include <string>

namespace broadloom::cli {

// NumPy's form: brackets per dim, columns aligned, floats with as few digits as name them exactly.
// Of an array of more than 1000 elements only the first and last three along each axis are shown.
std::string print_array(const Array &array);

} // namespace broadloom::cli
