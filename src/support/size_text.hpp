// Sizes for people.
#pragma once

#include <string>

namespace broadloom::support {

// "96 bytes", "12.5 KiB", "300 MiB", "1.2 GiB"
std::string size_text(double bytes);

// "521 ns", "1.23 us", "40.1 ms", "2 s"
std::string time_text(double ns);

} // namespace broadloom::support
