// Throwing a user's mistake by its code: the first two digits choose the class.
//
//   E00xx SpecError   E01xx ShapeError   E02xx DTypeError   E03xx DataError   E05xx CompileError
//   E06xx SpecError   E07xx CancelledError   E08xx SpecError
//
// docs/errors.md lists the codes. `help` says what to do and is never empty.
#pragma once

#include <broadloom/error.hpp>

#include <string>

namespace broadloom::support {

[[noreturn]] void fail(std::string code, std::string message, Place where, std::string help);

} // namespace broadloom::support
