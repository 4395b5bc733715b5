// See paths.hpp.
#include "tools/broadloom/data/paths.hpp"

#include <algorithm>
#include <cstdlib>
#include <pwd.h>

namespace broadloom::cli {

std::string with_home(const std::string &path) {
  if (path.empty() || path[0] != '~') return path;
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string user = path.substr(1, end - 1), rest = path.substr(end);
  if (const char *home = std::getenv("HOME"); user.empty() && home != nullptr && *home != '\0')
    return home + rest;
  const passwd *entry = user.empty() ? nullptr : getpwnam(user.c_str());
  return entry != nullptr ? entry->pw_dir + rest : path;
}

} // namespace broadloom::cli
