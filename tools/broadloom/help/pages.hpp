// Pages of docs/ that the program has in it, to the byte, and what their lines say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace broadloom::cli {

std::string_view errors_page();
std::string_view functions_page();
std::string_view math_page();

// Up to the next line, which is taken off.
std::string_view take_line(std::string_view &text);

// | `exp(x)` | e to the power of x | -> "`exp(x)`", "e to the power of x"; nothing of a line that
// is no row.
std::vector<std::string> cells_of(std::string_view line);

// [below](#when-memory-ends) -> below, \| -> |
std::string without_marks(std::string_view text);

} // namespace broadloom::cli
