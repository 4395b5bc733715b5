// The plans of a kernel's calls that are kept: a call of the same layouts chooses nothing.
#pragma once

#include "jit/call/call_plan.hpp"
#include "support/undivided.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace broadloom::jit {

// What the calls of a kernel do, of those so far: the latest first, and a few before it.
class CallPlans {
public:
  // Of a call with these operands; chosen now where it was not. Throws what choose_call does.
  std::shared_ptr<const CallPlan> of(const Nests &nests, kernel::Operands call) const;
  void add(const std::shared_ptr<const CallPlan> &plan) const;
  std::shared_ptr<const CallPlan> latest() const; // null before any

private:
  mutable support::Mutex mutex_;
  mutable std::vector<std::shared_ptr<const CallPlan>> plans_; // under the lock
};

} // namespace broadloom::jit
