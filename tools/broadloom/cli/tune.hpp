// Which clauses of a schedule make a kernel faster on given data.
//
// Problem: what the compiler chooses follows from a model of machines, and no model knows this one,
// or this data.
// Method: each clause that a schedule could have is tried alone. One that changes neither the
// blocks nor how they are shared out is left out; the others run against the kernel as it is, in
// alternating rounds, of which the median ratio counts. A ratio that is better than the noise,
// which is what the kernel shows against itself, is measured once more, and the worse of the two is
// believed. Those that are left are put together, the best one first, as long as each makes the
// whole faster still.
#pragma once

#include <broadloom/broadloom.hpp>

#include <string>
#include <vector>

namespace broadloom::cli {

// A clause about the loops of a let that is an array, or (no let) of the outputs.
struct Possible {
  ScheduleClause clause;
  std::string let = {};
};
std::string print(const Possible &possible); // "vector j", "schedule h { vector j }"

struct Tried {
  Possible clause;
  double ratio = 1; // time with the clause, by that without
};

struct Tuned {
  std::string kernel;
  int clauses = 0;           // that could be written
  int tried = 0;             // of these, such as change what runs
  double noise = 0;          // 0.03: ratios below 0.97 count
  std::vector<Tried> faster; // the best one first
  Schedule together;         // what the spec has, and of these such as go together
  double ratio = 1;          // of the schedule
};

// Every clause that the kernel's schedule could have in addition, each alone.
std::vector<Possible> possible_clauses(const LoopSpec &spec);

// Runs the kernel some hundred times, each trial for about so many seconds. What the outputs hold
// afterwards is of no use.
Tuned tune(const LoopSpec &spec, const Options &options, const std::vector<AnyView> &inputs,
           const std::vector<AnyView> &outputs, double seconds);

std::string to_text(const Tuned &tuned);

} // namespace broadloom::cli
