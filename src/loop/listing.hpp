// A loop program as printed, with the line of every statement: what ties machine code to the nest
// that it came from.
#pragma once

#include "loop/loop.hpp"

#include <string>
#include <unordered_map>

namespace broadloom::loop {

struct Listing {
  std::string text; // as print() gives it
  // Lines count from 1. A `let` that is written where it is used has the line of its user. The
  // statements are those of the program, which must stay where it is.
  std::unordered_map<const Stmt *, int> line_of;
};

Listing list(const Program &program);

} // namespace broadloom::loop
