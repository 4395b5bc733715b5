// LLVM's start, beside what else a first call has to do.
//
// Problem: the first compilation of a process takes some 4 ms longer than the next one. LLVM's
// tables are made, and its code comes into memory page by page as it runs for the first time.
// Method: while a kernel is planned and its IR is made, another thread (jit/native/backend.cpp)
// sends a loop of a few instructions through the code generator.
#pragma once

#include "jit/native/target.hpp"

namespace broadloom::jit {

// The loop, and back when it is code. Does nothing where there is no memory for a compilation.
void start_llvm(const Target &target);

} // namespace broadloom::jit
