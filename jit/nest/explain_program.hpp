// Decisions behind a program, whichever kernel it is of: its blocks, its threads, and why it was
// not known. See docs/why.md.
#pragma once

#include "block/block.hpp"
#include "plan/plan.hpp"

#include <broadloom/kernel.hpp>

#include <span>
#include <vector>

namespace broadloom::jit {

// In large programs: the operations that are called, and the phases that are cut, to compile in
// time.
std::vector<Decision> explain_weights(const block::Weights &weights);

// For each phase, whether several threads run it.
std::vector<Decision> explain_threads(const loop::Program &program, const plan::Binding &binding,
                                      const support::Machine &machine);

// A pattern that was not known to the kernel; `known` are those that were.
Decision explain_miss(const loop::Program &program, std::span<const loop::Program *const> known);

} // namespace broadloom::jit
