// Object files that hold data alone, written without a linker or an assembler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace broadloom::jit {

// One for the architecture that the ELF format calls so: `data` as NAME_built, which is read-only,
// and room for a pointer as NAME_handle. Both are seen by what it is linked into, and by no other
// library.
std::string data_object(const std::string &name, std::string_view data, std::uint16_t machine);

} // namespace broadloom::jit
