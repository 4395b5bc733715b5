// Names beside names that are taken.
#pragma once

#include <string>

namespace broadloom::support {

// `name` where take(name) says that it was free, else the first of name_2, name_3, .. of which it
// does.
template <class Take> std::string free_name(const std::string &name, Take take) {
  std::string free = name;
  for (int k = 2; !take(free); ++k) free = name + "_" + std::to_string(k);
  return free;
}

// The same, which is taken from now on.
template <class Names> std::string fresh_name(const std::string &name, Names &taken) {
  return free_name(name, [&](const std::string &free) { return taken.insert(free).second; });
}

} // namespace broadloom::support
