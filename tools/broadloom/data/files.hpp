// Files of arrays by what their names end in: .npy, .npz archives, .csv as text and .png pictures.
#pragma once

#include "array/pending.hpp"
#include "tools/broadloom/data/source.hpp"

#include <string>

namespace broadloom::cli {

// Numbers between commas, semicolons or spaces, a row for each line. A first line is a heading
// where none of its fields is a number or begins as one. One column is an array of one dim. Throws
// DataError E0301, E0302.
ListSource read_csv(const std::string &path);

// What may be written, for people: ".npy, .npz, .csv or .png".
inline constexpr const char *written_kinds = ".npy, .npz, .csv or .png";
bool is_written(std::string_view path); // its name ends in one of them
bool is_archive(std::string_view path); // which holds several arrays by their names

// The whole file, which has yet to get its name; of several arrays only an archive. Throws
// DataError E0303, of a .csv file ShapeError E0101 for more than two dims, and what `pending_png`
// throws.
array::PendingFile pending_file(const std::string &path, const NamedArrays &arrays);

// What such a file holds of the array of this name, in the dtype where the file has none of its
// own. Throws what reading it throws.
Array read_written(const std::string &path, const std::string &name, DType dtype);

// What a .npy file or an entry of a .npz file holds, with its views.
Array array_of_file(const Source &source);

} // namespace broadloom::cli
