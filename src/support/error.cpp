// How an error reads: code and message, the line with a caret, and what to do.
#include <broadloom/error.hpp>

#include "support/check.hpp"
#include "support/fail.hpp"
#include "support/out_of_memory.hpp"
#include "support/text.hpp"
#include "support/warning.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace broadloom {

namespace {

// A name may have a megabyte, a list thousands of names: the person who reads needs the first of
// it.
std::string cut(std::string text) {
  constexpr std::size_t longest_name = 256, kept = 64, longest = 4096;
  const auto in_name = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  for (auto name = text.begin(); name != text.end();) {
    name = std::find_if(name, text.end(), in_name);
    auto end = std::find_if_not(name, text.end(), in_name);
    if (std::size_t(end - name) > longest_name) {
      const auto at = text.erase(name + kept, end);
      end = text.insert(at, {'.', '.'}) + 2;
    }
    name = end;
  }
  if (text.size() <= longest) return text;
  std::size_t end = longest;
  while (end > 0 && (std::uint8_t(text[end]) & 0xc0) == 0x80) --end; // not within a code point
  return text.substr(0, end) + " ..";
}

std::string line_of(const Place &place) {
  return place.file + ":" + std::to_string(place.line) +
         (place.column > 0 ? ":" + std::to_string(place.column) : "");
}

} // namespace

Error::Error(std::string code, std::string message, Place where, std::string help)
    : std::runtime_error(code), code_(std::move(code)), message_(cut(support::printable(message))),
      where_(std::move(where)), help_(cut(support::printable(help))), what_(text()) {}

void Error::note_call(std::string kernel, Place called) {
  if (!kernel_.empty()) return;
  kernel_ = cut(std::move(kernel));
  called_ = std::move(called);
  what_ = text();
}

std::string Error::text() const {
  const bool named = message_.rfind("kernel '" + kernel_ + "'", 0) == 0; // by the message itself
  std::string text =
      code_ + ": " + (named || kernel_.empty() ? "" : "kernel '" + kernel_ + "': ") + message_;
  if (where_.known()) text += " (" + line_of(where_);
  if (called_.known())
    text += (where_.known() ? ", called at " : " (called at ") + line_of(called_);
  if (where_.known() || called_.known()) text += ")";
  return text + "\nhelp: " + help_;
}

InternalError::InternalError(std::string message, std::string ir)
    : Error(
          "E0901", std::move(message), {},
          "please report it with all of this and the kernel; another engine may run it meanwhile"),
      ir_(std::move(ir)), what_(std::string(Error::what()) + (ir_.empty() ? "" : "\n" + ir_)) {}

namespace {

struct Excerpt {
  std::string line, mark;
};

// The source line and the caret under it. Tabs are kept in both, so that the caret stays right in
// any terminal; what could confuse a terminal is shown as '?'; of a very long line only a window is
// shown.
Excerpt excerpt(const Place &where) {
  constexpr int widest = 160, before = 60, after = 80;
  std::vector<std::string_view> columns; // one code point each
  for (std::size_t i = 0; i < where.text.size();) {
    std::size_t length = support::utf8_length(where.text, i);
    bool shown = length > 0 && (where.text[i] == '\t' || !support::is_control(where.text, i));
    length = std::max<std::size_t>(length, 1);
    columns.push_back(shown ? std::string_view(where.text).substr(i, length) : "?");
    i += length;
  }
  int size = int(columns.size());
  int caret = std::clamp(where.column - 1, 0, size);
  int first = 0, last = size;
  if (size > widest) {
    first = std::max(0, caret - before);
    last = std::min(size, caret + after);
  }
  Excerpt result;
  if (first > 0) result.line = result.mark = "...";
  std::fill(result.mark.begin(), result.mark.end(), ' ');
  for (int i = first; i < last; ++i) {
    result.line += columns[std::size_t(i)];
    if (i < caret) result.mark += columns[std::size_t(i)] == "\t" ? '\t' : ' ';
  }
  if (last < size) result.line += "...";
  result.mark += '^';
  int length = std::min(where.length, last - caret);
  if (length > 1) result.mark.append(std::size_t(length - 1), '~');
  return result;
}

// `tag`: "error[E0102]"
std::string rendered(const Error &error, const std::string &tag, bool color) {
  const Place &where = error.where();
  const char *bold = color ? "\033[1m" : "", *red = color ? "\033[1;31m" : "";
  const char *green = color ? "\033[1;32m" : "", *off = color ? "\033[0m" : "";
  std::string text = bold;
  if (where.known()) {
    text += support::printable(where.file) + ":" + std::to_string(where.line) + ":";
    if (where.column > 0) text += std::to_string(where.column) + ":";
  } else {
    text += "broadloom:";
  }
  text += off;
  text += std::string(" ") + red + tag + ":" + off + " " + bold +
          support::printable(error.message()) + off;
  if (where.known() && !where.text.empty()) {
    Excerpt shown = excerpt(where);
    text += "\n" + shown.line + "\n" + green + shown.mark + off;
  }
  return text + "\n" + bold + "help:" + off + " " + support::printable(error.help());
}

} // namespace

std::string Error::render(bool color) const {
  return rendered(*this, "error[" + code_ + "]", color);
}

namespace support {

std::string excerpt_of(const Place &place) {
  if (!place.known() || place.text.empty()) return {};
  const Excerpt shown = excerpt(place);
  return shown.line + "\n" + shown.mark;
}

std::string as_warning(const Error &error) { return rendered(error, error.code(), false); }

void fail(std::string code, std::string message, Place where, std::string help) {
  std::string_view family = std::string_view(code).substr(0, 3);
  if (family == "E00" || family == "E06" || family == "E08")
    throw SpecError(std::move(code), std::move(message), std::move(where), std::move(help));
  if (family == "E01")
    throw ShapeError(std::move(code), std::move(message), std::move(where), std::move(help));
  if (family == "E02")
    throw DTypeError(std::move(code), std::move(message), std::move(where), std::move(help));
  if (family == "E03")
    throw DataError(std::move(code), std::move(message), std::move(where), std::move(help));
  if (family == "E05")
    throw CompileError(std::move(code), std::move(message), std::move(where), std::move(help));
  if (family == "E07")
    throw CancelledError(std::move(code), std::move(message), std::move(where), std::move(help));
  bug("no error class for " + code);
}

void out_of_memory() {
  fail("E0305", "out of memory", {},
       "free memory and try again: specs, kernels and arrays are as they were before");
}

} // namespace support
} // namespace broadloom
