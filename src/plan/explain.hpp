// Inside the plan stage: the decisions that show in the finished program, put into words. Those that are made on
// the way are noted where they are made.
#pragma once

#include "plan/cost.hpp"
#include "support/reasons.hpp"

#include <string>

namespace broadloom::plan {

// Why an output of so many bytes is stored around the caches, or is not.
Decision explain_streaming(const std::string &output, support::Reason reason, double bytes);

// Adds to plan.why: the loops of each phase and the axis of its vectors, and what the operands weigh.
void explain_program(const spec::TypedSpec &spec, Plan &plan);

} // namespace broadloom::plan
