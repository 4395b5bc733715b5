// The lines of an entry that has several, by positions in its text: bytes, at the beginnings of
// characters.
//
//   kernel k {\n  out z = x * 2 }
//   0          11
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace broadloom::cli {

// Where the line begins that holds this position, and where it ends: at its line end, or at that of
// the text.
std::size_t line_begin(std::string_view text, std::size_t at);
std::size_t line_end(std::string_view text, std::size_t at);

// How many characters stand before this position in its line.
std::size_t column_of(std::string_view text, std::size_t at);

// The same column of the line above or below, or the end of that where it is shorter; none where
// there is no such line.
std::optional<std::size_t> above(std::string_view text, std::size_t at, std::size_t column);
std::optional<std::size_t> below(std::string_view text, std::size_t at, std::size_t column);

// Where the word begins that ends here or before blanks, within the line; words are what stands
// between blanks. At the beginning of a line: the end of the line above.
std::size_t word_begin(std::string_view text, std::size_t at);

} // namespace broadloom::cli
