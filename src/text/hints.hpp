// What to write in place of words that people bring from NumPy, Python, C and their kin.
//
//   cumsum(x, i)     help: write scan(sum, x, i)
//   a and b          help: write && for 'and'
#pragma once

#include <string>
#include <string_view>

namespace broadloom::text {

// What stands in a place where something else was expected: "the end of the statement", "out".
std::string hint_for_place(std::string_view expected, std::string_view found);

// Each is empty where there is nothing to say of the word.
std::string hint_for_function(std::string_view word);
std::string hint_for_operator(std::string_view word); // between operands, or before one
std::string hint_for_value(std::string_view word);
std::string hint_for_statement(std::string_view word);
std::string hint_for_option(std::string_view word);
std::string hint_for_dtype(std::string_view word);
std::string hint_for_number(std::string_view word); // 0x1F, 1_000, 1.0f, 2L

} // namespace broadloom::text
