// The hash of bytes on disk and in what was built: XXH3 of 128 bits.
#pragma once

#define XXH_INLINE_ALL // the library itself is not needed
#include <xxhash.h>

#include <cstring>
#include <string>
#include <string_view>

namespace broadloom::jit {

inline constexpr std::size_t checksum_bytes = 16;

inline XXH128_hash_t hash128_of(std::string_view bytes) {
  return XXH3_128bits(bytes.data(), bytes.size());
}

inline std::string checksum_of(std::string_view bytes) {
  const XXH128_hash_t hash = hash128_of(bytes);
  std::string sum(checksum_bytes, '\0');
  std::memcpy(sum.data(), &hash.low64, 8);
  std::memcpy(sum.data() + 8, &hash.high64, 8);
  return sum;
}

} // namespace broadloom::jit
