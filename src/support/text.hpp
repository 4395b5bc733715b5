// Small questions about text: is it UTF-8, which line is it, which name did they mean?
//
// Columns count code points, so that a caret stands under the right letter whatever comments hold.
#pragma once

#include <broadloom/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::support {

// Bytes of the well-formed UTF-8 sequence at `offset`, 0 where there is none (a NUL counts as
// none).
std::size_t utf8_length(std::string_view text, std::size_t offset);

// Whether a control character stands there, of ASCII or beyond: U+009B is an ESC and a bracket in
// one.
bool is_control(std::string_view text, std::size_t offset);

// The offset of the first byte that is NUL or no UTF-8; empty where the text is sound.
std::optional<std::size_t> find_bad_byte(std::string_view text);

// Code points in `text`; a malformed byte counts as one.
int count_columns(std::string_view text);

// Line `line` (from 1) of `text`, without its end of line; empty where there is none such.
std::string_view line_of(std::string_view text, int line);

// `place` with its source line filled in, where `source` is known and the place is known.
Place with_text(Place place, const std::string *source);

// The line of a place that has one, and a caret under what it underlines; empty where there is
// none.
std::string excerpt_of(const Place &place);

// [A-Za-z_][A-Za-z0-9_]*
bool is_identifier(std::string_view word);

// The candidate most like `word`, empty where none is near.
std::string closest(std::string_view word, const std::vector<std::string> &candidates);

// "1 element", "3 elements"
std::string count(std::int64_t n, std::string_view noun);

// "'a'", "'a' and 'b'", "'a', 'b' and 'c'"
std::string quoted_list(const std::vector<std::string> &words);
std::string tuple(const std::vector<std::string> &words); // "x", "(x, y)"

// What stands in a list, as it is or as text(it), with ", " between.
template <class List, class Text = std::identity>
std::string joined(const List &list, Text text = {}, std::string_view between = ", ") {
  std::string all, next;
  for (const auto &one : list) {
    all += next + std::string(std::invoke(text, one));
    next = between;
  }
  return all;
}

// Adds to a sum: "i", " - 2*j", or the number itself where nothing is multiplied.
void add_term(std::string &sum, std::int64_t times, std::string_view what = {});

// What moves a terminal's cursor or changes its colours is shown as its bytes: "a\x1b[31m" for a
// name with an ESC. Newlines and tabs stay.
std::string printable(std::string_view text);

// `text` for HTML and XML, in elements and in attributes between double quotes.
std::string escaped_markup(std::string_view text);

} // namespace broadloom::support
