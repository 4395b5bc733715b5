// A run of a call whose operands were looked at once (run_call.hpp).
#pragma once

#include "jit/nest/specialisation.hpp"

#include <memory>
#include <vector>

namespace broadloom::jit {

struct ReadyRun {
  std::vector<AnyView> views{};            // of all operands; unused where one is not wanted
  std::vector<const AnyView *> operands{}; // into views, null where one is not wanted
  std::shared_ptr<const Specialisation> special{}; // null: it is looked up
  // For the phases where nothing else is left to do; empty where a run needs scratch memory or
  // copies of inputs.
  std::vector<char *> buffers{};
};

} // namespace broadloom::jit
