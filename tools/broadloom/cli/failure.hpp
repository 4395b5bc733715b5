// What went wrong, as text for people and as an exit status.
#pragma once

#include "tools/broadloom/cli/text_options.hpp"

#include <broadloom/error.hpp>

#include <exception>
#include <string>

namespace broadloom::cli {

enum Status { // docs/command_line.md
  Fine = 0,
  WrongSpec = 1,
  WrongUsage = 2,
  WrongData = 3,
  OurBug = 70,
};

struct Failure {
  std::string text; // ends without a newline; empty where there is nothing to say
  int status = 0;
};

// Of a broadloom::Error, Mistakes, Interrupted, std::bad_alloc or another std::exception; what is
// none of these is thrown on. `color` adds ANSI escapes.
Failure describe(std::exception_ptr thrown, Phase phase, bool color);

// Throws the error again, with this place where it has none of its own. Called where it has been
// caught.
[[noreturn]] void throw_at(const Error &error, const Place &place);

} // namespace broadloom::cli
