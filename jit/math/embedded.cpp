// Views of the data that embed.S brings in; see embedded.hpp.
#include "jit/math/embedded.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

extern "C" {
extern const unsigned char bl_math_v3_begin[];
extern const unsigned char bl_math_v4_begin[];
}

namespace broadloom::jit {

namespace {

struct Entry { // of the index: split.cpp
  std::uint64_t name, name_bytes, module, module_bytes;
};

const unsigned char *file_of(IsaLevel level) {
  switch (level) {
  case IsaLevel::V3: return bl_math_v3_begin;
  case IsaLevel::V4: return bl_math_v4_begin;
  }
  return nullptr;
}

} // namespace

std::span<const unsigned char> bitcode(IsaLevel level, std::string_view function) {
  const unsigned char *file = file_of(level);
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
