// A file that is complete under a temporary name beside its own before it has that.
//
// `commit` gives it its name, else the destructor removes it. So several files can all be written
// before the first one shows.
//
//   PendingFile file("z.csv");
//   file.write(text.data(), text.size());
//   file.commit();
#pragma once

#include <cstddef>
#include <string>

namespace broadloom::array {

class PendingFile { // what it does throws DataError E0303
public:
  explicit PendingFile(const std::string &path);
  PendingFile(PendingFile &&other) noexcept;
  PendingFile &operator=(PendingFile &&) = delete;
  ~PendingFile();

  const std::string &temporary() const { return temporary_; } // for those who write by its name
  void write(const void *from, std::size_t bytes);
  void commit();

  [[noreturn]] void fail(const std::string &why) const; // "cannot write 'z.npy': why"

private:
  std::string given_, path_, temporary_; // the last is empty once there is nothing to remove
  int descriptor_ = -1;
};

} // namespace broadloom::array
