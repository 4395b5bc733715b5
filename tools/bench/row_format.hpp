// How numbers of a row are written, in text as in HTML.
#pragma once

#include "bench/row.hpp"

#include <string>

namespace bench {

// "1 thread 12.3 ms, 2 threads 6.4 ms (1.92 times as fast)"; empty without any.
std::string scaling_text(const Row &row);
std::string time_text(double seconds);      // "12.3 ms", "1.234 us", "40.1 ns"
std::string roof_text(const Row &row);      // "93 %", or nothing
std::string bandwidth_text(const Row &row); // "19.2", or nothing for a row without roofline
std::string ratio_text(double ratio);       // "0.87", "0.012"

} // namespace bench
