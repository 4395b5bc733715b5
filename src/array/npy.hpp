// What .npy files are made of: the header as text, and the file that is written, then named.
// `load_npy` and `save_npy` in array.hpp are the public part.
#pragma once

#include "array/pending.hpp"

#include <broadloom/array.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::npy {

struct Header {
  DType dtype = DType::F32;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t data_offset = 0; // bytes before the first element
};

// The longest header that is read, more than any NumPy writes for 16 dims.
inline constexpr std::size_t max_header = 65536;
inline constexpr std::size_t max_prefix = 12 + max_header;

// Reads the header from the file's beginning (the whole file or its first `max_prefix` bytes) and
// checks it against the file's size. `path` names the file in errors. Throws DataError E0302,
// DTypeError E0211.
Header parse_header(std::string_view bytes, std::uint64_t file_size, const std::string &path);

// A version 1.0 header, padded so that the data starts at a multiple of 64 bytes.
std::string format_header(DType dtype, bool fortran_order, std::span<const std::int64_t> shape);

// The whole .npy file, which has yet to get its name.
array::PendingFile pending(const std::string &path, const Array &array);

} // namespace broadloom::npy
