// How long the phases of a loop program are going to take.
//
// Problem: people want to know whether a time is what is to be expected, and where it would go.
// Method: a roofline for each phase (Williams, Waterman and Patterson, 2009), with what the machine
// was measured to do. The operations of all bodies, by their costs and the lanes that they run in,
// on the threads that share the phase; and the bytes that it must load and store, at the rate of
// operands of that size. The greater of the two is the time, with a part of the lesser, as they do
// not overlap in full.
// Example: a*b + c of 16M f32 on two threads: 192 MB read, 64 MB written; 268 MB at 30 bytes for a
// ns are 8.9 ms.
#pragma once

#include "plan/plan.hpp"
#include "support/rates.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace broadloom::plan {

// What a function of our own takes for a vector of this type, beside others. Measured on one
// machine: another one has another scale, which Rates::function_ns is.
double function_cost(ops::Op op, DType compute);

// How a phase runs.
struct PhaseRun {
  int threads = 1;     // that share it
  bool cached = false; // after another one that has just had the same operands
};

// How a loop's body runs.
struct BodyRun {
  int lanes = 1;              // positions of a vector
  double load = 1, store = 1; // instructions for one that moves a vector
  double joins = 1;           // of the states of a scan in groups, for one step
  double waits =
      1; // longer than the operations take, as each step of a fold waits for the one before
};

// Where an input lies: the windows of one array read the same bytes, of which there are so many.
struct InputMemory {
  std::uint32_t array = 0;
  double bytes = 0;
  bool near = false; // of an array whose rows are in the caches when they are read
};
struct OperandMemory {
  std::vector<InputMemory> inputs = {}; // [input operand]; none: each has memory of its own
  bool near_outputs = false;            // as are those that are written
};

// [phase], in ns.
std::vector<double> predict(const loop::Program &program, const Binding &binding,
                            std::span<const PhaseRun> phases, std::span<const BodyRun> loops,
                            const OperandMemory &memory, const support::Rates &rates);

} // namespace broadloom::plan
