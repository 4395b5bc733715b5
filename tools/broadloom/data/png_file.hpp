// Pictures: .png files of 8 bits a channel as u8 arrays.
//
//   gray              [h, w]
//   gray and alpha    [h, w, 2]
//   RGB               [h, w, 3]
//   RGB and alpha     [h, w, 4]
//
// Bytes are read and written as they are, without a look at gamma or profiles. Palettes are read as the colours that they stand
// for, gray of 1, 2 or 4 bits as 8.
#pragma once

#include <broadloom/array.hpp>

#include <string>

namespace broadloom::cli {

// Throws DataError E0301, E0302 (also for 16 bits a channel).
Array read_png(const std::string &path);

// A complete file under a temporary name beside `path`. `commit` gives it its name; otherwise the destructor removes it. [h, w, 1]
// is gray, too. Throws DTypeError E0203, ShapeError E0101, DataError E0303.
class PendingPng {
public:
  PendingPng(const std::string &path, const Array &array);
  PendingPng(PendingPng &&other) noexcept;
  PendingPng &operator=(PendingPng &&) = delete;
  ~PendingPng();

  void commit();

private:
  std::string path_, temporary_; // the latter is empty once there is nothing to remove
};

} // namespace broadloom::cli
