// Functions over all arguments of f32, on a device and on this processor.
#pragma once

#include <cstdint>
#include <string>

namespace broadloom::differential {

// Of each function of one f32, `chunks` pieces of all 2^32 arguments, evenly apart: all are
// chunks_of_floats. Prints a line for each function that differs, and gives how many do.
inline constexpr std::uint64_t chunks_of_floats = std::uint64_t(1) << 14;
int compare_floats(const std::string &device, std::uint64_t chunks);

} // namespace broadloom::differential
