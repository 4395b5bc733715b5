// The `broadloom` program as a function, so that tests need no process.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace broadloom::cli {

enum Status { // docs/language.md, "Command line"
  Fine = 0,
  WrongSpec = 1,
  WrongUsage = 2,
  WrongData = 3,
  OurBug = 70,
};

// `args` are the words after the program's name. Returns the exit status; prints errors to `err`,
// with ANSI colours where `color` says so. Never throws.
int run_cli(const std::vector<std::string> &args, std::istream &in, std::ostream &out,
            std::ostream &err, bool color = false);

} // namespace broadloom::cli
