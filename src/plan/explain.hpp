// The decisions that show in the finished program, put into words when somebody asks. Those that
// are made on the way are noted where they are made.
#pragma once

#include "plan/cost.hpp"
#include "support/reasons.hpp"

#include <string>

namespace broadloom::plan {

// Why an output of so many bytes is stored around the caches, or is not.
Decision explain_reading(const std::string &input, support::Reason reason, double bytes);
// `asked` by the schedule, in place of the reason.
Decision explain_streaming(const loop::Buffer &output, support::Reason reason, double bytes,
                           spec::Stores asked);

// The loops of each phase and the axis of its vectors, and what the operands weigh.
std::vector<Decision> explain_program(const spec::TypedSpec &spec, const loop::Program &program,
                                      const Binding &binding);

} // namespace broadloom::plan
