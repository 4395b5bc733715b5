// Inside the verifier: its parts.
#pragma once

#include "loop/loop.hpp"

namespace broadloom::loop {

// Every store reaches each element that its buffer can reach once, scratch memory and rows are read after they were stored:
// a part of `verify`.
void verify_stores(const Program &program);

} // namespace broadloom::loop
