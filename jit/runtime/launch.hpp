// The contract between a device's kernels and the host: what a phase is launched with.
//
// A phase becomes one kernel, `phase_k(words)`, of one parameter by value, or, where that would be
// too large, of the address of such in the device's memory: words of eight bytes, the tables of the
// frame (abi.hpp) one after the other, of strides those alone that buffers have, then how the boxes
// of the phase's parallel axes are cut.
//
//   extents[axis] chunks[axis] strides[buffer][walk] buffers[buffer]
//   row_bytes boxes counts[parallel axis] grains[parallel axis]
//
// Warps are 32 threads. Warp w of W takes the boxes w, w + W, w + 2 W, .. of all `boxes`; box b
// lies, the innermost axis first, at position b % count * grain, with b / count left for the axes
// outside, and has at most `grain` positions along each. What each warp has for itself begins w *
// row_bytes behind the address that is given.
#pragma once

#include "loop/loop.hpp"

#include <cstddef>
#include <vector>

namespace broadloom::jit::runtime {

struct LaunchLayout { // the place of each table's first word
  LaunchLayout(const loop::Program &program, std::size_t phase) {
    const std::size_t axes = program.axes.size(), parallel = program.phases[phase].parallel.size();
    chunks = extents + axes;
    buffers = chunks + axes;
    for (const loop::Buffer &buffer : program.buffers) {
      strides.push_back(buffers);
      buffers += buffer.walks.size();
    }
    row_bytes = buffers + program.buffers.size();
    boxes = row_bytes + 1;
    counts = boxes + 1;
    grains = counts + parallel;
    words = grains + parallel;
  }
  std::size_t extents = 0, chunks, buffers, row_bytes, boxes, counts, grains;
  std::vector<std::size_t> strides; // [buffer]
  std::size_t words;                // in all
  // Whether any device takes so many bytes by value.
  bool is_parameter() const { return words * sizeof(std::int64_t) <= 4000; }
};

inline constexpr int warp_threads = 32;
inline constexpr int warps_of_group = 4; // that a device starts together

} // namespace broadloom::jit::runtime
