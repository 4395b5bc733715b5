// Mistakes on the command line. They end with exit status 2 and have no place in a text, but for
// commands of a script.
//
// E0401 unknown or contradicting words      E0405 --out: unknown, twice, or no .npy path
// E0402 file not found or not readable      E0406 --kernel: unknown, or needed
// E0403 malformed SOURCE                    E0407 not given any more
// E0404 --in: unknown, twice, or missing    E0408 there is no disk cache
#pragma once

#include <broadloom/error.hpp>

#include <string>
#include <vector>

namespace broadloom::cli {

struct UsageError : Error {
  UsageError(std::string code, std::string message, std::string help, Place where = {})
      : Error(std::move(code), std::move(message), std::move(where), std::move(help)) {}
};

// All mistakes of a text, at least one: exit status 1.
struct Mistakes {
  std::vector<Error> errors;
};

} // namespace broadloom::cli
