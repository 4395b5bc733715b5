// How many operations an expression has at least, by its tokens alone: one with too many is refused
// before any of it is made, as a node of an expression is 100 times as large as its text.
#pragma once

#include "text/parser.hpp"

#include <cstddef>

namespace broadloom::text {

// Of the expression that begins here. Each operator counts, and what stands to the right of one
// between two; each call counts beside its arguments. What stands in brackets, and what `pad` says
// of its borders, makes no values. It stops counting beyond `enough`.
std::size_t count_operations(const Cursor &cursor, std::size_t enough);

} // namespace broadloom::text
