// Names of files as people write them.
#pragma once

#include <string>

namespace broadloom::cli {

// `~/a.npy` in the home folder, `~ada/a.npy` in that of another user; other names as they are.
std::string with_home(const std::string &path);

} // namespace broadloom::cli
