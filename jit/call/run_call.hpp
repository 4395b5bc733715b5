// Running the steps of a plan (call_plan.hpp), one after the other: the only loop over them.
#pragma once

#include "jit/call/call_plan.hpp"
#include "jit/nest/ready_run.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace broadloom::jit {

void run_call(const Nests &nests, const CallPlan &plan, kernel::Operands call,
              const LetWatch &watch);

// Compiles what its runs need.
void prepare_call(const CallPlan &plan);

// A call on the same memory again and again: all pointers are looked at once.
class RepeatedCall {
public:
  // Throws what a call does for its pointers, and for elements that say positions.
  RepeatedCall(const Nests &nests, std::shared_ptr<const CallPlan> plan, kernel::Operands call);
  void run() const;

  // The only run, where that is all that a call is; else null.
  const ReadyRun *only_run() const;

private:
  const Nests &nests_;
  const std::shared_ptr<const CallPlan> plan_;
  std::vector<AnyView> named_;
  std::vector<const AnyView *> call_;
  Array memory_;
  std::vector<char *> arrays_;  // where each array of the plan begins
  std::vector<ReadyRun> ready_; // [run]; without views inside of loops, where these move
};

} // namespace broadloom::jit
