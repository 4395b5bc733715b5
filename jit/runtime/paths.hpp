// How often each way to run a loop was taken: what the random tests hold themselves against, as a
// path that no kernel takes is tested by none.
//
// Code that is made with Profile::paths adds to these counts as it runs; other code does not, and
// its bits are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace broadloom::jit {

enum class Path : std::uint8_t {
#define BL_PATH(enumerator, name) enumerator,
#include "jit/runtime/paths.def"
#undef BL_PATH
};
#define BL_PATH(enumerator, name) +1
inline constexpr std::size_t path_count = 0
#include "jit/runtime/paths.def"
    ;
#undef BL_PATH

std::string_view name(Path path); // "map-group"

// One count for each path, since the process began; threads add to them without order.
std::uint64_t *path_counts();
void count(Path path); // of those that a call takes before its phases

} // namespace broadloom::jit
