// Text that fits a terminal.
#pragma once

#include <string>
#include <string_view>

namespace broadloom::cli {

// Lines broken at spaces, so that none is wider than `columns` (0: as wide as it likes). What goes
// on in a new line stands below the second column of a table, if that leaves half of the width,
// else two further in than its line:
//
//   .show STAGE [K]    print a stage        axes: i, j: by descending
//                      of the compiler        stride
//
// A word that is wider stays whole.
std::string wrapped(std::string_view text, int columns);

// How many rows a text takes on a terminal that breaks lines at its edge; escapes that colour it
// take no room.
int rows_of(std::string_view text, int columns);

} // namespace broadloom::cli
