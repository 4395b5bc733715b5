// Devices by name.
#pragma once

#include "jit/gpu/device.hpp"

namespace broadloom::jit::gpu {

// "cuda", "cuda:1" or "played". One for each name in a process, for good. Throws CompileError E0505
// where it is not there.
std::shared_ptr<Device> open(std::string_view name);

} // namespace broadloom::jit::gpu
