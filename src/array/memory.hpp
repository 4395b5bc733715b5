// Memory of arrays.
//
// Problem: a system that maps memory anew for each output pays for every page at its first touch: a
// plain kernel on 64 MiB then takes six times as long as on memory that was used before.
// Method: from 2 MiB on, memory is mapped on the border of a huge page and handed out zeroed, page
// by page; what is given back is kept for the next output of a like size, up to a limit for the
// process. Smaller arrays come from the heap, which keeps its memory itself.
// Example: written_memory(64 << 20), twice in turn, is the same memory with the pages in place.
#pragma once

#include <cstddef>
#include <memory>

namespace broadloom::array {

// All zero; null where there is none to be had. Exactly `bytes` from the heap, so that
// AddressSanitizer sees its end.
std::shared_ptr<void> zeroed_memory(std::size_t bytes);

// For what is about to be written as a whole: the contents are not specified.
std::shared_ptr<void> written_memory(std::size_t bytes);

// Under AddressSanitizer nothing is kept: it shall see each use of memory that was given back.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool keeps_memory = false;
#elif defined(__has_feature)
inline constexpr bool keeps_memory = !__has_feature(address_sanitizer);
#else
inline constexpr bool keeps_memory = true;
#endif
inline constexpr std::size_t most_kept_bytes = std::size_t(256) << 20;
std::size_t kept_bytes(); // at the moment
void release_kept();

} // namespace broadloom::array
