// The version of these headers, and of the library that a program runs with.
#pragma once

#include <string_view>

#define BROADLOOM_VERSION "0.1.0"
#define BROADLOOM_VERSION_NUMBER 100 // 10000 * major + 100 * minor + patch

namespace broadloom {

// The version of the loaded library. Before 1.0 it has the minor version of the headers.
std::string_view version();

} // namespace broadloom
