// What the choice of blocks and the translator must know of a phase: which values and accumulators
// differ from lane to lane of the vector loop around them, and what each loop contains.
#pragma once

#include "block/weights.hpp"
#include "loop/loop.hpp"

#include <vector>

namespace broadloom::block {

struct Survey {
  struct LoopFacts {
    std::vector<loop::BufferId> buffers; // loaded or stored in the loop or in loops inside
    bool costly = false;                 // heavy math inside: do not copy the body,
    std::int64_t functions = 0;          // or only where functions are all of it, of this weight
    bool doubles = false;                // functions of c64 inside, which compute in f64
    bool inner_loops = false;
    bool inner_folds =
        false; // loops inside carry accumulators, are not short, and more than join chunks
    bool inner_trees = false; // loops of many known turns inside fold in ways: long code
    int narrowest = 8;        // bytes of the narrowest and widest types that vary in it
    int widest = 1;
    // Bytes per position of the accumulators inside; of nested folds, those of the one with most.
    // A short row has some states of its tree waiting.
    int acc_bytes = 0;
  };
  std::vector<bool> value_varies;
  std::vector<bool> acc_varies; // some state or start value does
  std::vector<LoopFacts> loops;
  std::vector<loop::BufferId> buffers; // all that the phase touches
};
Survey survey(const loop::Program &program, std::size_t phase, const Weights &weights);

// Whether a loop takes several positions at once. A `vector` loop does, unless it has one lane and
// accumulators for which the order matters, or is a scan.
bool runs_as_vector(const loop::Program &program, const loop::Loop &loop);
// Whether all of its accumulators have the same bits in whatever order.
bool folds_in_any_order(const loop::Program &program, const loop::Loop &loop);

} // namespace broadloom::block
