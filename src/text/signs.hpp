// The signs of the text form, for who shows what the lexer (lexer.cpp) reads.
#pragma once

#include <string_view>
#include <vector>

namespace broadloom::text {

std::vector<std::string_view> signs(); // longer ones first

} // namespace broadloom::text
