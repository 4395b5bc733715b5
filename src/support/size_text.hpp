// Sizes for people.
#pragma once

#include <string>

namespace broadloom::support {

// "96 bytes", "12.5 KiB", "300 MiB", "1.2 GiB"
std::string size_text(double bytes);

} // namespace broadloom::support
