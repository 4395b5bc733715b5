// The decisions that are made behind the plan: blocks, threads, code. See docs/why.md.
#pragma once

#include "block/block.hpp"
#include "jit/engine/target.hpp"
#include "plan/plan.hpp"

#include <span>
#include <vector>

namespace broadloom::jit {

// What the code of the target is made from.
block::Program blocks_of(const loop::Program &program, const Target &target);

// Lanes, copies and tiles of the blocks that turn. Of the target only `vector_bits` counts.
std::vector<Decision> explain_blocks(const loop::Program &program, const plan::Binding &binding,
                                     const Target &target);

// In large programs: the operations that are called, and the phases that are cut, to compile in time.
std::vector<Decision> explain_weights(const loop::Program &program);

// For each phase, whether several threads run it.
std::vector<Decision> explain_threads(const loop::Program &program, const plan::Binding &binding,
                                      int threads);

// A pattern that was not known to the kernel; `known` are those that were.
Decision explain_miss(const loop::Program &program, std::span<const loop::Program *const> known);

} // namespace broadloom::jit
