// What work costs, and what a loop program is predicted to cost for the extents of a call: the
// latter is a guide for people and for the choice of what to show, and nothing that the plan
// decides depends on it.
//
//   for i (100 turns)               body: 100 turns, 0 flops
//     vector for j (200 turns)      body: 20000 turns, 2 flops each
#pragma once

#include "plan/plan.hpp"

#include <map>
#include <vector>

namespace broadloom::plan {

// What an operation costs (ops::info) is in sixteenths of a rough cycle for each element. So are
// these.
inline constexpr double cost_per_cycle = 16;
inline constexpr double load_cost = 2; // a cast's, too
inline constexpr double store_cost = 4;

// Of the statements of a loop's own body, without the loops inside it, over all turns.
struct BodyCost {
  double turns = 0; // how often the body runs
  double flops = 0;
  double cycles = 0; // rough ones of one core
  int phase = 0;
};

// [loop]
std::vector<BodyCost> loop_costs(const loop::Program &program, const Binding &binding);

// Bytes: each element of an operand or scratch array once where the phase loads it and once where
// it stores it. Rows, which stay in the caches, count nothing.
std::vector<Cost> phase_costs(const loop::Program &program, const Binding &binding); // [phase]

// What a phase loads or stores of an operand or scratch array: whole cache lines, where its
// elements lie apart.
struct Moved {
  loop::Role role = loop::Role::Input;
  std::uint32_t operand = 0;
  bool stored = false;
  double bytes = 0;
};
std::vector<Moved> bytes_moved(const loop::Program &program, const Binding &binding,
                               std::size_t phase);

// Of all elements of an input or output that the program touches, once.
double operand_bytes(const loop::Program &program, const Binding &binding, loop::Role role,
                     std::uint32_t operand);
// The same of each input that the program reads.
std::map<std::uint32_t, double> bytes_of_inputs(const loop::Program &program,
                                                const Binding &binding);

} // namespace broadloom::plan
