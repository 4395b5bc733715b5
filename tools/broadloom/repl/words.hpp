// A command line of the REPL as words.
//
//   .run k x = rand(3, 4)[::2], -> z='my file.npy'      ".run" "k" "x=rand(3, 4)[::2]" "->" "z=my
//                                                       file.npy"
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::cli {

// Words end at spaces and commas outside of parentheses, brackets and quotes; spaces around `=` do
// not count, quotes are left out. Throws UsageError E0401 where a quote, a parenthesis or a bracket
// is left open.
std::vector<std::string> words_of(std::string_view line);

// Of a name in the language: letters of ASCII, digits and '_'.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

// Whether it is one of a list of words.
template <class Words> bool holds(const Words &words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// The name that was perhaps meant: the nearest one, or one with letters exchanged; empty where none
// is near.
std::string nearest(std::string_view word, const std::vector<std::string> &names);

} // namespace broadloom::cli
