// What a call of a kernel does, as data (calls/call.hpp): told from what the latest call chose or,
// before any, from what one on C-contiguous inputs of typical extents would.
#pragma once

#include "calls/call.hpp"
#include "jit/kernel.hpp"

namespace broadloom::jit {

// Throws SpecError E0501 where a kernel that was not called has lets whose shapes no typical
// extents fit.
calls::Call describe_call(const KernelImpl &kernel);

} // namespace broadloom::jit
