// LLVM's start, beside what else a first call has to do.
//
// Problem: the first compilation of a process takes some 4 ms longer than the next one. LLVM's tables are made, and its code comes into
// memory page by page as it runs for the first time.
// Method: while a kernel is planned and its IR is made, another thread sends a loop of a few instructions through the code generator.
// Example: start_llvm(target, 2) in bl::compile, where no code can come from the disk cache.
#pragma once

#include "jit/native/target.hpp"

namespace broadloom::jit {

// Once in a process, and only where there is a second processor and a second thread is allowed. The caller counts as undivided, and so
// does the thread: a fork or the end of the process waits for it; nothing else does.
void start_llvm(const Target &target, int threads);

} // namespace broadloom::jit
