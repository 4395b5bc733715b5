// See fit.hpp.
#include "tools/broadloom/repl/fit.hpp"

#include "support/text.hpp"

#include <algorithm>

namespace broadloom::cli {

namespace {

// Where what goes on stands: 19 for "  .why [K]         print why", of 80 columns.
std::size_t hanging(std::string_view line, std::size_t columns) {
  const std::size_t indentation = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", indentation);
  const std::size_t second = gap == line.npos ? gap : line.find_first_not_of(' ', gap);
  if (second != line.npos && second <= columns / 2) return second;
  return std::min(indentation + 2, columns / 2);
}

void wrap_line(std::string_view line, std::size_t columns, std::string &text) {
  const std::string next(hanging(line, columns), ' ');
  std::size_t used = 0; // in this row
  bool first = true;
  while (!line.empty()) {
    // A word with the spaces before it.
    const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t end = std::min(line.find(' ', start), line.size());
    const std::string_view word = line.substr(start, end - start);
    const auto width = std::size_t(support::count_columns(word));
    if (!first && used + start + width > columns) {
      text += '\n' + next;
      used = next.size();
    } else {
      text.append(start, ' ');
      used += start;
    }
    text += word;
    used += width;
    first = false;
    line.remove_prefix(end);
  }
}

} // namespace

std::string wrapped(std::string_view text, int columns) {
  if (columns <= 0) return std::string(text);
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    wrap_line(text.substr(0, end), std::size_t(columns), result);
    if (end < text.size()) result += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

int rows_of(std::string_view text, int columns) {
  int rows = 0, column = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      ++rows, ++at, column = 0;
    } else if (text[at] == '\033') {
      at = std::min(text.find('m', at), text.size() - 1) + 1;
    } else {
      if (column == columns) ++rows, column = 0;
      ++column;
      at += std::max<std::size_t>(support::utf8_length(text, at), 1);
    }
  }
  return rows + (column > 0 ? 1 : 0);
}

} // namespace broadloom::cli
