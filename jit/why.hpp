// The decisions that are made behind the plan: vectors, threads, code. See docs/why.md.
#pragma once

#include "jit/engine/target.hpp"
#include "jit/runtime/threads.hpp"
#include "jit/runtime/train.hpp"
#include "plan/plan.hpp"

#include <optional>
#include <span>
#include <vector>

namespace broadloom::jit {

// How a phase is cut into blocks for so many threads: into shorter ones where a call can be cancelled.
runtime::Grid grid_of(const loop::Program &program, std::size_t phase, const plan::Binding &binding,
                      int threads, bool interpreted = false, bool cancellable = false);

// How this phase and the two after it run block by block, where they are those of a parallel scan. `grid` is that of
// the first; `code` has all phases, or is empty where nothing is to be run.
std::optional<runtime::Train> train_of(const loop::Program &program, std::size_t first,
                                       const plan::Binding &binding, const runtime::Grid &grid,
                                       std::span<const PhaseFn> code);

// Lanes and copies of each vector loop. Of the target only `vector_bits` counts.
std::vector<Decision> explain_widths(const loop::Program &program, const Target &target);

// In large programs: the operations that are called, and the phases that are cut, to compile in time.
std::vector<Decision> explain_weights(const loop::Program &program);

// For each phase, whether several threads run it.
std::vector<Decision> explain_threads(const loop::Program &program, const plan::Binding &binding,
                                      int threads);

// A pattern that was not known to the kernel; `known` are those that were.
Decision explain_miss(const loop::Program &program, std::span<const loop::Program *const> known);

} // namespace broadloom::jit
