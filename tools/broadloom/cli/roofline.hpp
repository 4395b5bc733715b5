// What a kernel has to do, and what this machine can do at most: Williams, Waterman and Patterson,
// "Roofline", CACM 52 (2009).
#pragma once

#include "spec/spec.hpp"
#include "tools/broadloom/cli/rounds.hpp"

#include <broadloom/broadloom.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace broadloom::cli {

struct Work {
  double points = 0;     // the most positions that one of its operations has
  double operations = 0; // arithmetic and functions, fma counting twice, and steps of folds
  double bytes = 0;      // of all operands, each element once
  bool wide = false;     // most operations are on more than 32 bits
};
Work work_of(const spec::TypedSpec &spec, const std::vector<Array> &inputs,
             const std::vector<Array> &outputs);

// What a kernel has been held against in the same rounds.
struct Measured {
  Spread ns;                // of a call
  std::int64_t calls = 0;   // that were timed
  Spread share;             // of the roofline, by rounds: 0.43 is 43 %
  double memory_ns = 0;     // the least time to move the bytes
  double arithmetic_ns = 0; // and to do the operations; 0 where there are none
  double unrest = 1;        // slow rounds by fast ones: much, where something else ran beside
};

// Kernels that do nothing but move bytes, or do nothing but arithmetic: a copy and a maximum of as
// many bytes as the work moves (16 KiB to 128 MiB), and long chains of fma.
class Roof {
public:
  explicit Roof(const Options &options); // compiles them

  // Runs `call` and these in alternating rounds, for about so many seconds. Throws CancelledError
  // where the options say so.
  Measured measure(const Work &work, const std::function<void()> &call, double seconds) const;

private:
  Kernel copy_, most_, chain_32_, chain_64_;
};

// From rounds of: the call, the copy, the maximum and, where there are operations, the chains.
// `bytes` and `operations` are those of one call of the latter three.
Measured held_against_roof(const Rounds &rounds, const Work &work, double bytes, double operations);

} // namespace broadloom::cli
