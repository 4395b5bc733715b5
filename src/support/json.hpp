// Strings of JSON.
#pragma once

#include <string>
#include <string_view>

namespace broadloom::support {

// Quoted and escaped. What is no UTF-8 (a path may be any bytes) becomes the replacement character.
std::string json_string(std::string_view text);

} // namespace broadloom::support
