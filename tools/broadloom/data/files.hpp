// Files of numbers beside .npy: .csv as text, and arrays in .npz archives.
#pragma once

#include "tools/broadloom/data/source.hpp"

#include <string>

namespace broadloom::cli {

// Numbers between commas, semicolons or spaces, a row for each line; a first line that is no numbers is a heading. One column is an array of one
// dim. Throws DataError E0301, E0302.
ListSource read_csv(const std::string &path);

// Of one dim or two. Throws ShapeError E0101 for more, DataError E0303.
void write_csv(const std::string &path, const Array &array);

// What a .npy file or an entry of a .npz file holds, with its views.
Array array_of_file(const Source &source);

} // namespace broadloom::cli
