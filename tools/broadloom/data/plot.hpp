// Small arrays as blocks of the terminal.
#pragma once

#include <broadloom/array.hpp>

#include <string>

namespace broadloom::cli {

// Columns of eight heights for a row of numbers, shades for a matrix, from the least to the
// greatest value, which stand in the last line:
//
//   ▁▂▃▄▅▆▇█                   ░▒▓█
//   0.0 to 7.0                 ▒▓█░
//
// Nothing for other ranks, complex numbers, more than 48 x 96 elements, or no finite value. What is
// not finite is shown as `?`. What is wider than a terminal of so many columns (0: any) is cut and
// ends in `…`. The values of the last line have so many digits.
std::string plot_array(const Array &array, int columns = 0, int digits = 6);

} // namespace broadloom::cli
