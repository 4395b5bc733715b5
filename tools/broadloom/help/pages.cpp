// See pages.hpp.
#include "tools/broadloom/help/pages.hpp"

#include <algorithm>

namespace broadloom::cli {

std::string_view take_line(std::string_view &text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  if (!line.starts_with("| ") || !line.ends_with(" |")) return cells;
  for (std::size_t at = 0; at + 2 < line.size();) {
    const std::size_t end = line.find(" |", at + 1);
    cells.emplace_back(line.substr(std::min(at + 2, end), end - std::min(at + 2, end)));
    at = end + 1;
  }
  return cells;
}

std::string without_marks(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at)
    if (text.substr(at, 2) == "](")
      at = std::min(text.find(')', at), text.size() - 1);
    else if (text[at] == '[' && text.find("](", at) < text.find(']', at) + 1)
      continue;
    else if (text.substr(at, 2) != "\\|")
      plain += text[at];
  return plain;
}

} // namespace broadloom::cli
