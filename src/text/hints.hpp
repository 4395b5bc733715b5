// What to write in place of words that people bring from NumPy, Python, C and their kin.
//
//   cumsum(x, i)     help: write scan(sum, x, i)
//   a and b          help: write && for 'and'
#pragma once

#include <string>
#include <string_view>

namespace broadloom::text {

// Each is empty where there is nothing to say of the word.
std::string hint_for_function(std::string_view word);
std::string hint_for_operator(std::string_view word); // between operands, or before one
std::string hint_for_value(std::string_view word);
std::string hint_for_statement(std::string_view word);
std::string hint_for_option(std::string_view word);
std::string hint_for_dtype(std::string_view word);

} // namespace broadloom::text
