// A call, gone through step by step in the plainest way: each array in memory of its own, each step
// as its line says, element by element.
//
//   interpret(parse(kernel.show(Stage::call)), {{"x", x}, {"y", y}}, nests)
//
// It shares nothing with who runs a call: not where arrays lie, nor the strides of windows, nor
// what borders, gathers and rows of loops are made by. Only what a nest computes is asked of
// others.
#pragma once

#include "calls/call.hpp"

#include <broadloom/array.hpp>

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace broadloom::calls {

// What a step `run` runs.
struct Nest {
  // How it wants to be given what a reference stands for: in this layout, of which each dim walks
  // an axis of the step, or stands at one position of a loop around it.
  struct Operand {
    struct Walk {
      std::string axis = {}; // empty: at one position
      std::int64_t first = 0, step = 1;
    };
    Layout layout;
    std::vector<Walk> dims; // [dim]
  };
  std::vector<Operand> from, to;
  // Positions that the step leaves out have zeros, and what comes out there is left.
  std::function<void(std::span<const AnyView> from, std::span<const AnyView> to)> run;
};

// The nest of a step, of which the ranges begin here; one that writes no element may have none.
using NestOf = std::function<Nest(const Step &step, std::span<const Range> over)>;

// Reads the inputs and writes the outputs that the call names, each of which must be there: an
// output that is added to has what it is added to. Throws SpecError E0801 where a step reads or
// writes outside of an array.
void interpret(const Call &call, const std::map<std::string, AnyView, std::less<>> &arrays,
               const NestOf &nest_of);

} // namespace broadloom::calls
