// Views of the data that embed.S brings in; see embedded.hpp.
#include "jit/math/embedded.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

// Those that are embedded here.
#if defined(__x86_64__)
#define BL_LEVELS BL_LEVEL(v3) BL_LEVEL(v4) BL_LEVEL(neon) BL_LEVEL(one)
#else
#define BL_LEVELS BL_LEVEL(neon) BL_LEVEL(one)
#endif

extern "C" {
#define BL_LEVEL(name) extern const unsigned char bl_math_##name##_begin[];
BL_LEVELS
#undef BL_LEVEL
}

namespace broadloom::jit {

namespace {

struct Entry { // of the index: split.cpp
  std::uint64_t name, name_bytes, module, module_bytes;
};

const unsigned char *file_of(std::string_view level) {
#define BL_LEVEL(name)                                                                             \
  if (level == #name) return bl_math_##name##_begin;
  BL_LEVELS
#undef BL_LEVEL
  return nullptr;
}

} // namespace

std::span<const unsigned char> bitcode(std::string_view level, std::string_view function) {
  const unsigned char *file = file_of(level);
  if (file == nullptr) return {};
  const auto name_of = [&](const Entry &entry) {
    return std::string_view(reinterpret_cast<const char *>(file) + entry.name, entry.name_bytes);
  };
  std::uint64_t count = 0;
  std::memcpy(&count, file, sizeof count);
  const std::span<const Entry> index(reinterpret_cast<const Entry *>(file + sizeof count), count);
  const auto found = std::ranges::lower_bound(index, function, {}, name_of);
  if (found == index.end() || name_of(*found) != function) return {};
  return {file + found->module, found->module_bytes};
}

} // namespace broadloom::jit
