// What the words of a line are, for colours as it is typed.
#pragma once

#include "tools/broadloom/repl/library.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace broadloom::cli {

enum class Paint { Plain, Keyword, Type, Function, Number, Comment, Command, Unknown };

struct Span { // bytes of the line; those in no span are plain
  std::size_t begin = 0, end = 0;
  Paint paint = Paint::Plain;
};

// `before` holds the lines above that belong to the same definition. A name that ends at the cursor
// is not called unknown: it is still being typed. Behind what is no token nothing is painted.
std::vector<Span> highlight(std::string_view before, std::string_view line, std::size_t cursor,
                            const Library &library);

// The escape that switches a paint on; "\033[0m" switches it off.
const char *escape_of(Paint paint);

} // namespace broadloom::cli
