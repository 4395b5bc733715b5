// Runs the phases of a parallel scan block by block.
//
// Problem: a scan in chunks is three phases: the totals of the chunks, what each chunk starts from,
// and the scan itself. One after another they read the operands from memory twice.
// Method: each block of chunks goes through all three while it is in the caches. Threads take
// blocks in order; before the middle phase a block waits until the one before it has passed that
// phase, which is soon, as a block's totals are found long before its scan ends. The order of the
// joins is that of the phases run as a whole, so the bits are, too.
//
//   thread 0:  totals 0, carry 0, scan 0            totals 2, carry 2, scan 2
//   thread 1:  totals 1,          carry 1, scan 1            totals 3, ..
#pragma once

#include "jit/runtime/threads.hpp"

#include <array>
#include <cstdint>

namespace broadloom::jit::runtime {

struct PipelineCode : plan::Pipeline {
  std::array<PhaseFn, 3> phases = {};
};

// The caller has set FloatControl. Once `cancel` is true no further block is begun.
void run_pipeline(Workers &workers, const PipelineCode &pipeline, const loop::Frame &frame,
                  CancelFlag cancel);

} // namespace broadloom::jit::runtime
