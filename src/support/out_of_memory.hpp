// What public functions make of std::bad_alloc, which says nothing of what to do: DataError E0305.
// (Where even its message finds no room, std::bad_alloc it is.)
// Example: void check(const LoopSpec &spec) try { .. } catch (const std::bad_alloc &) {
// support::out_of_memory(); }
#pragma once

#include <new>

namespace broadloom::support {

[[noreturn]] void out_of_memory();

} // namespace broadloom::support
