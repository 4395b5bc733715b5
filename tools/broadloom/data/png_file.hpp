// Pictures: .png files of 8 bits a channel as u8 arrays.
//
//   gray              [h, w]
//   gray and alpha    [h, w, 2]
//   RGB               [h, w, 3]
//   RGB and alpha     [h, w, 4]
//
// Bytes are read and written as they are, without a look at gamma or profiles. Palettes are read as
// the colours that they stand for, gray of 1, 2 or 4 bits as 8.
#pragma once

#include "array/pending.hpp"

#include <broadloom/array.hpp>

#include <string>

namespace broadloom::cli {

// Throws DataError E0301, E0302 (also for 16 bits a channel).
Array read_png(const std::string &path);

// The whole file, which has yet to get its name. [h, w, 1] is gray, too. Throws DTypeError E0203,
// ShapeError E0101, DataError E0303.
array::PendingFile pending_png(const std::string &path, const Array &array);

} // namespace broadloom::cli
