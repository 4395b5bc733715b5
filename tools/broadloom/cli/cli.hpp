// The `broadloom` program as a function, so that tests need no process.
#pragma once

#include "tools/broadloom/cli/failure.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace broadloom::cli {

// `args` are the words after the program's name. Returns the exit status; prints errors to `err`,
// with ANSI colours where `color` says so. Never throws.
int run_cli(const std::vector<std::string> &args, std::istream &in, std::ostream &out,
            std::ostream &err, bool color = false);

} // namespace broadloom::cli
