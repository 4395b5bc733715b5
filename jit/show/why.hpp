// The decisions about a kernel; those behind its programs: explain_program.hpp. See docs/why.md.
#pragma once

#include <broadloom/kernel.hpp>

#include <vector>

namespace broadloom::jit {

using detail::KernelImpl;

// All of them: about each let that is an array, and its kernel, and about the rest. Text and JSON
// have them in this order.
std::vector<Decision> why(const KernelImpl &kernel);
std::vector<Decision> explain_let(const KernelImpl &kernel, std::size_t k);
std::vector<Decision> explain_rest(const KernelImpl &kernel);

} // namespace broadloom::jit
