// See text.hpp.
#include "support/text.hpp"

#include <algorithm>

namespace broadloom::support {

std::size_t utf8_length(std::string_view text, std::size_t offset) {
  auto byte = [&](std::size_t i) {
    return offset + i < text.size() ? std::uint8_t(text[offset + i]) : std::uint8_t(0);
  };
  auto follows = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  std::uint8_t first = byte(0);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    if (!follows(1) || !follows(2)) return 0;
    if (first == 0xe0 && byte(1) < 0xa0) return 0; // written longer than needed
    if (first == 0xed && byte(1) > 0x9f) return 0; // half of a surrogate pair
    return 3;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (first == 0xf0 && byte(1) < 0x90) return 0;
    if (first == 0xf4 && byte(1) > 0x8f) return 0; // beyond U+10FFFF
    return 4;
  }
  return 0;
}

bool is_control(std::string_view text, std::size_t offset) {
  const auto byte = std::uint8_t(text[offset]);
  if (byte < 0x20 || byte == 0x7f) return true;
  return byte == 0xc2 && offset + 1 < text.size() && std::uint8_t(text[offset + 1]) < 0xa0;
}

std::optional<std::size_t> find_bad_byte(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = utf8_length(text, i);
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

int count_columns(std::string_view text) {
  int columns = 0;
  for (std::size_t i = 0; i < text.size(); ++columns)
    i += std::max<std::size_t>(1, utf8_length(text, i));
  return columns;
}

std::string_view line_of(std::string_view text, int line) {
  std::size_t start = 0;
  for (int i = 1; i < line; ++i) {
    start = text.find('\n', start);
    if (start == text.npos) return {};
    ++start;
  }
  std::string_view rest = text.substr(start);
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

Place with_text(Place place, const std::string *source) {
  if (source && place.known() && place.text.empty()) place.text = line_of(*source, place.line);
  return place;
}

bool is_identifier(std::string_view word) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (word.empty() || !letter(word[0])) return false;
  return std::all_of(word.begin(), word.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

namespace {

// Levenshtein's distance; words longer than a name would be are not compared.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

} // namespace

std::string closest(std::string_view word, const std::vector<std::string> &candidates) {
  constexpr std::size_t longest = 32;
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  if (word.size() > longest) return best;
  for (const std::string &candidate : candidates) {
    if (candidate.size() > longest) continue;
    std::size_t d = distance(word, candidate);
    if (d < best_distance && d < word.size()) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string count(std::int64_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

std::string quoted_list(const std::vector<std::string> &words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += "'" + words[i] + "'";
  }
  return text;
}

std::string tuple(const std::vector<std::string> &words) {
  return words.size() == 1 ? words[0] : "(" + joined(words) + ")";
}

void add_term(std::string &sum, std::int64_t times, std::string_view what) {
  sum += times < 0 ? (sum.empty() ? "-" : " - ") : (sum.empty() ? "" : " + ");
  const std::uint64_t size = times < 0 ? -std::uint64_t(times) : std::uint64_t(times);
  if (what.empty() || size != 1) sum += std::to_string(size) + (what.empty() ? "" : "*");
  sum += what;
}

std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length > 0 && (!is_control(text, i) || text[i] == '\n' || text[i] == '\t')) {
      result += text.substr(i, length);
      i += length;
      continue;
    }
    for (std::size_t k = 0; k < std::max<std::size_t>(length, 1); ++k, ++i)
      (((result += "\\x") += digits[std::uint8_t(text[i]) >> 4]) += digits[text[i] & 15]);
  }
  return result;
}

std::string escaped_markup(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
    case '<': result += "&lt;"; break;
    case '>': result += "&gt;"; break;
    case '&': result += "&amp;"; break;
    case '"': result += "&quot;"; break;
    default: result += c;
    }
  }
  return result;
}

} // namespace broadloom::support
