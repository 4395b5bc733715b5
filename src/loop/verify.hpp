// Inside the verifier: its parts.
#pragma once

#include "loop/loop.hpp"

#include <string>

namespace broadloom::loop {

// A rule of loop.hpp that a program breaks, thrown by `check_rules`.
struct BrokenRule {
  std::string what;
  const Stmt *where; // of the program; null where no one statement breaks it
};

// What `verify` does, but for the form of its error. A reference that points nowhere is a bug at
// once.
void check_rules(const Program &program);

// Every store reaches each element that its buffer can reach once, scratch memory and rows are read
// after they were stored: a part of `check_rules`.
void check_stores(const Program &program);

} // namespace broadloom::loop
