// See paths.hpp.
#include "jit/runtime/paths.hpp"

#include <array>

namespace broadloom::jit {

std::string_view name(Path path) {
  static constexpr std::string_view names[] = {
#define BL_PATH(enumerator, name) name,
#include "jit/runtime/paths.def"
#undef BL_PATH
  };
  return names[std::size_t(path)];
}

std::uint64_t *path_counts() {
  static std::array<std::uint64_t, path_count> counts{};
  return counts.data();
}

void count(Path path) {
  __atomic_fetch_add(&path_counts()[std::size_t(path)], 1, __ATOMIC_RELAXED);
}

} // namespace broadloom::jit
