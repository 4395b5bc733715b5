// Object files that hold data alone, written without a linker or an assembler.
#pragma once

#include <string>
#include <string_view>

namespace broadloom::jit {

// One for the processors that native code is made for: `data` as NAME_built, which is read-only,
// and room for a pointer as NAME_handle. Both are seen by what it is linked into, and by no other
// library.
std::string data_object(const std::string &name, std::string_view data);

} // namespace broadloom::jit
