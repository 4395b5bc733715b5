// From the layouts of a call to all that it does: the only place where the steps of a call are
// chosen. Each is printed and run from the same decision (call_plan.hpp).
#pragma once

#include "jit/call/call_plan.hpp"

namespace broadloom::jit {

// `call` are the inputs and outputs that a caller names, null for an output that is not wanted;
// their pointers are not looked at. Throws what shapes are not fit for, and what LentOperands does.
// Only a plan that is to be run has its outputs checked, and compiles what is run in parts.
enum class Purpose : std::uint8_t { Run, Tell };
std::shared_ptr<const CallPlan> choose_call(const Nests &nests, kernel::Operands call,
                                            const kernel::Overlaps &overlaps, Purpose purpose);

// What each output is called there: what a state becomes is "w_next".
std::vector<std::string> arrays_of_outputs(const spec::TypedSpec &typed);

} // namespace broadloom::jit
