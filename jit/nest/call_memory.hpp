// Memory for the time of a call, where the kernel's arrays lie.
#pragma once

#include "jit/nest/setup.hpp"
#include "jit/runtime/scratch.hpp"

namespace broadloom::jit {

class CallMemory {
public:
  // Throws DataError E0305.
  CallMemory(const Setup &setup, std::size_t bytes)
      : there_(setup.device && bytes > 0 ? setup.device->allocate(bytes) : nullptr),
        here_(setup.device ? 0 : bytes) {}

  char *data() const { return there_ ? static_cast<char *>(there_.get()) : here_.data(); }

private:
  const std::shared_ptr<void> there_; // of a device
  const runtime::Scratch here_;
};

} // namespace broadloom::jit
