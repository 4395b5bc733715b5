// See json.hpp.
#include "support/json.hpp"

#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace broadloom::support {

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (std::size_t k = 0; k < text.size();) {
    const std::size_t length = utf8_length(text, k);
    if (length != 1) {
      result += length == 0 ? "\\ufffd" : std::string(text.substr(k, length));
      k += std::max<std::size_t>(length, 1);
      continue;
    }
    const char c = text[k++];
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n' || c == '\t') {
      result += c == '\n' ? "\\n" : "\\t";
    } else if (std::uint8_t(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04x}", int(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

} // namespace broadloom::support
