// A device that this processor plays: see device.hpp.
//
// Its memory is mapped so that nobody may touch it but launches and copies, which run one after the
// other; so a host that looks at an element of a device ends at once, in any test, on any machine.
// Its code is that of the target "warp" (jit/native/warp.hpp).
#pragma once

#include "jit/gpu/device.hpp"

namespace broadloom::jit::gpu {

std::shared_ptr<Device> played_device();

// What has been launched so far, for tests.
struct Launched {
  std::int64_t launches = 0, boxes = 0, steps = 0, copies_out = 0;
  std::int64_t waits_for = 0, lets_wait = 0; // of streams
};
Launched launched_on_played_device();

} // namespace broadloom::jit::gpu
