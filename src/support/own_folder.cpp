// See own_folder.hpp.
#include "support/own_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace broadloom::support {

bool may_make_below(const std::string &path) {
  struct stat about{};
  std::filesystem::path there = path;
  while (stat(there.c_str(), &about) != 0) {
    if (!there.has_relative_path()) return false;
    there = there.parent_path();
  }
  return about.st_uid == geteuid() || (about.st_mode & S_ISVTX) != 0;
}

} // namespace broadloom::support
