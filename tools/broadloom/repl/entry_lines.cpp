// See entry_lines.hpp.
#include "tools/broadloom/repl/entry_lines.hpp"

#include "support/text.hpp"

#include <algorithm>

namespace broadloom::cli {

namespace {

std::size_t next(std::string_view text, std::size_t at) {
  return std::min(text.size(), at + std::max<std::size_t>(support::utf8_length(text, at), 1));
}

std::size_t in_line(std::string_view text, std::size_t begin, std::size_t column) {
  std::size_t at = begin;
  for (const std::size_t end = line_end(text, begin); column > 0 && at < end; --column)
    at = next(text, at);
  return at;
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

} // namespace

std::size_t line_begin(std::string_view text, std::size_t at) {
  return at == 0 ? 0 : text.rfind('\n', at - 1) + 1; // npos + 1 is 0
}

std::size_t line_end(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

std::size_t column_of(std::string_view text, std::size_t at) {
  std::size_t column = 0;
  for (std::size_t k = line_begin(text, at); k < at; k = next(text, k)) ++column;
  return column;
}

std::optional<std::size_t> above(std::string_view text, std::size_t at, std::size_t column) {
  const std::size_t begin = line_begin(text, at);
  if (begin == 0) return std::nullopt;
  return in_line(text, line_begin(text, begin - 1), column);
}

std::optional<std::size_t> below(std::string_view text, std::size_t at, std::size_t column) {
  const std::size_t end = line_end(text, at);
  if (end == text.size()) return std::nullopt;
  return in_line(text, end + 1, column);
}

std::size_t word_begin(std::string_view text, std::size_t at) {
  const std::size_t begin = line_begin(text, at);
  if (at == begin) return at == 0 ? 0 : at - 1;
  while (at > begin && is_blank(text[at - 1])) --at;
  while (at > begin && !is_blank(text[at - 1])) --at;
  return at;
}

} // namespace broadloom::cli
