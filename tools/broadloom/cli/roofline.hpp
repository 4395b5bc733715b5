// What a kernel has to do, and what this machine can do at most: Williams, Waterman and Patterson,
// "Roofline", CACM 52 (2009).
#pragma once

#include "spec/spec.hpp"

#include <broadloom/broadloom.hpp>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace broadloom::cli {

// Times of calls, in nanoseconds.
struct Timing {
  double median = 0, least = 0, greatest = 0;
  std::int64_t calls = 0;
};

// Calls for about so long, at least five times; calls that are too short for the clock are timed in
// batches, of which each counts as one measurement.
Timing time_calls(const std::function<void()> &call, double seconds);

struct Work {
  double points = 0;     // the most positions that one of its operations has
  double operations = 0; // arithmetic and functions, fma counting twice, and steps of folds
  double bytes = 0;      // of all operands, each element once
  bool wide = false;     // most operations are on more than 32 bits
};
Work work_of(const spec::TypedSpec &spec, const std::vector<Array> &inputs,
             const std::vector<Array> &outputs);

struct Roofline {
  int threads = 1;
  std::vector<std::pair<double, double>> bandwidth; // (bytes moved in a call, bytes per ns), rising
  double operations_32 = 0, operations_64 = 0;      // per ns

  double bytes_per_ns(double bytes) const;
  // The least times in ns for this work.
  double memory_bound(const Work &work) const { return work.bytes / bytes_per_ns(work.bytes); }
  double operations_bound(const Work &work) const {
    return work.operations / (work.wide ? operations_64 : operations_32);
  }
};

// Measured by kernels: the better of a copy and a sum for five sizes from the first cache to memory, and
// long chains of fma. Takes some 0.3 s. Throws CancelledError where `options` say so.
Roofline measure_roofline(const Options &options);

} // namespace broadloom::cli
