// What this machine does: measured by kernels of our own, once for a host.
//
// Problem: a prediction needs the rates of this machine, and a machine's data sheet has other ones.
// Method: sums and copies of operands from the nearest cache to memory, and chains of operations
// within it, on one thread and on all; the least time of several calls of each. Some 0.2 s. The
// numbers are kept in the folder of the disk cache, under a key with all that they depend on; what
// is broken there, or is no number of a machine, is measured again.
// Example: support::Rates rates = jit::rates_here(target, 2, "");
#pragma once

#include "jit/native/target.hpp"
#include "support/rates.hpp"

#include <string>

namespace broadloom::jit {

// `folder` as Options::cache_dir. Thread-safe; each combination is measured once in a process.
support::Rates rates_here(const Target &target, int threads, const std::string &folder);

} // namespace broadloom::jit
