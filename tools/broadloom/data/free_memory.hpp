// Linux hands out memory that it does not have and ends the program that touches it. So large
// arrays are held against what is free before they are made.
#pragma once

#include <cstdint>
#include <string>

namespace broadloom::cli {

// Bytes that this process may still take: of the machine and of its control group; 2^62 where that
// cannot be told.
std::int64_t free_memory();

// Throws DataError E0305 where `bytes` are more than that. `what` as in "input 'x'".
void require_memory(std::int64_t bytes, const std::string &what);

// The bytes of so many elements; 2^62 where there are more.
std::int64_t bytes_of(std::int64_t elements, std::int64_t size);

} // namespace broadloom::cli
