// What could stand at the cursor.
#pragma once

#include "tools/broadloom/repl/library.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::cli {

struct Completion {
  std::size_t begin = 0;          // of the word, in the line
  std::vector<std::string> words; // that begin as it does, in order
  bool files = false;             // where there are no words: files
  bool in_quotes = false;         // a quote is open: the word begins behind it
};

// `line` ends at the cursor; `before` holds the lines above that belong to the same definition.
//   ".ru"            .run                          ".show lo"       loop
//   ".run k x=ra"    rand( randn(                  "  out z = lo"
//       log log10 log1p log2 logaddexp ..
//   ".run k -> "     z=                            ".load 'my f"    files
Completion complete(std::string_view before, std::string_view line, const Library &library);

} // namespace broadloom::cli
