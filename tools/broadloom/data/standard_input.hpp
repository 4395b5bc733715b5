// Data on standard input.
#pragma once

#include <broadloom/array.hpp>

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace broadloom::cli {

enum class FileKind { Npy, Csv, Png };

// By its first bytes, or by its name.
FileKind kind_of_bytes(std::string_view bytes);
FileKind kind_of_name(std::string_view path);

// Reads all of a stream and calls `read` with the name of a file that holds it, and what it is.
// Messages of DataError that name this file name standard input. Throws UsageError E0402 where
// there is nothing.
Array read_stream(std::istream &in,
                  const std::function<Array(const std::string &path, FileKind kind)> &read);

} // namespace broadloom::cli
