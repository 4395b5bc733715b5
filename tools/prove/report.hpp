// The accuracy table of the docs: rows of a Markdown table between two marker lines.
//
// Rows that were not proven anew stay as they are, so that one function can be proven on its own.
// Example: update_table("docs/math.md", "accuracy", rows, order);
#pragma once

#include <string>
#include <vector>

namespace broadloom::prove {

// | exp | f32 | high | 0.79 | .. |: the first three cells name the row.
using Row = std::vector<std::string>;

// Replaces or adds these rows between `<!-- NAME: begin -->` and `<!-- NAME: end -->`, sorted by
// the place of their first cell in `order`; the two heading lines stay. Throws where the file or
// its markers are not there.
void update_table(const std::string &file, const std::string &name, const std::vector<Row> &rows,
                  const std::vector<std::string> &order);

} // namespace broadloom::prove
