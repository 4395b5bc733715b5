// Devices by NVIDIA's driver: see device.hpp.
#pragma once

#include "jit/gpu/device.hpp"

namespace broadloom::jit::gpu {

// The device of this number. Throws CompileError E0505 where it is not there, or the driver fails.
std::shared_ptr<Device> open_cuda(int number);

} // namespace broadloom::jit::gpu
