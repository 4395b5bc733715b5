// A case in all engines: what differs, if anything does.
#pragma once

#include "case.hpp"

#include <map>
#include <optional>
#include <string>

namespace broadloom::differential {

struct Tally { // of all cases so far
  std::int64_t kernels = 0, refused = 0, points = 0;
  std::int64_t bits =
      0; // a sum of hashes of all outputs' bits, any NaN as one: the same on every machine
  std::int64_t scheduled = 0;      // kernels with a schedule, held against themselves without it
  std::int64_t scheduled_lets = 0; // parts of schedules about lets that are arrays
  std::int64_t inlined = 0;   // such lets that are computed where they are read, as a schedule asks
  std::int64_t windowed = 0;  // kernels that read inputs at positions
  std::int64_t gathered = 0;  // and by an index
  std::int64_t computed = 0;  // which the kernel computes
  std::int64_t scattered = 0; // and sum through such a read
  std::int64_t arrays = 0;    // lets that are arrays
  std::int64_t loops = 0;     // kernels with lets that read themselves
  std::int64_t ended = 0;     // loops that stop where a let says so
  std::int64_t joined = 0;    // those of them that others make up
  std::int64_t placed = 0;    // and whose parts lie at positions
  std::int64_t said = 0;      // lets that say their extents
  std::int64_t said_axes = 0; // axes whose extents the kernel says
  std::int64_t extents = 0;   // kernels that read at positions with extents
  std::int64_t padded = 0;    // those that pad some of them
  std::int64_t in_warps = 0;  // kernels that ran with threads as lanes
  std::int64_t on_device = 0; // and on a device
  std::int64_t in_arenas = 0; // calls that took memory from an arena
  std::int64_t generic = 0;   // kernels that ran by generic plans, too
  std::int64_t equal = 0, bounded = 0;           // outputs that were held against the reference
  std::map<std::string, std::int64_t> decisions; // of the planner, by code
  std::map<std::string, std::int64_t> numpy;     // outputs held against NumPy: right, refused
};

struct Thoroughness {
  bool all_threads = false; // 1, 2, 3 and 7, and the reference as an engine
  bool reference = true;
  // Native code for AVX-512 and for AVX2; else for one of them, in turn by the data's seed.
  bool both_targets = true;
  std::string numpy = {}; // a Python with NumPy: the outputs of native code are held against it
};

// The first thing that is wrong: engines of different bits, an output far from the reference,
// another error than the reference's, an element not written, a byte changed between elements.
// Outputs hold another pattern before each call.
std::optional<std::string> find_mistake(const Case &c, const Thoroughness &how, Tally &tally);

} // namespace broadloom::differential
