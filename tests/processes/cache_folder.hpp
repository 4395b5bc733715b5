// A disk cache of its own, and kernels whose code is kept there.
//
// A process keeps code in memory, too, where it would be found first; here only that of the latest
// kernel (BROADLOOM_CODE_BYTES=0).
#pragma once

#include <broadloom/broadloom.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace broadloom::processes {

class CacheFolder { // under TMPDIR, else /tmp; gone with this
public:
  CacheFolder();
  ~CacheFolder();
  CacheFolder(const CacheFolder &) = delete;
  CacheFolder &operator=(const CacheFolder &) = delete;

  const std::string &path() const { return path_; }

  std::vector<std::filesystem::path> entries() const;
  std::vector<std::filesystem::path> unfinished() const; // what a writer has not given its name yet
  void remove_entries() const;
  void age_unfinished() const; // by two hours; the next entry leads to a look for them

  // Makes the kernel or takes it from here, calls it, and drops it.
  struct Kept {
    bool is_right = false; // native code has given what the definition says
    bool is_loaded = false;
  };
  Kept keep(int number) const; // y = exp(x) + number
  Kernel compiled(const std::string &text) const;

private:
  std::vector<std::filesystem::path> names(const char *beginning) const;
  std::string path_;
};

} // namespace broadloom::processes
