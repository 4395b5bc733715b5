// `--stage graph` as a drawing: in Graphviz's language, or as an HTML page with an SVG inside.
//
// A kernel whose lets are arrays is several kernels, one after the other. Each is a frame with all
// that is computed in its loops, and what goes from frame to frame is an array:
//
//   +- let h : f32 [n=64, k=50], an array of 12.5 KiB --+
//   |  x   w1                                           |
//   |   \ /                                             |
//   |   mul .. out h                                    |
//   +-----------|---------------------------------------+
//   +- kernel net ------------------------------------- +
//   |           h   w2                                  |
#pragma once

#include "spec/spec.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace broadloom::text {

struct GraphPart {
  std::string name;                      // "let h", "kernel net"
  const spec::TypedSpec *spec = nullptr; // null: a join, which nothing computes
  std::vector<std::int64_t> extents;     // [axis] of a call; empty: not known
  std::vector<std::string> notes;        // lines on how it runs
  std::vector<std::string> parts;        // of a join
  double ns = 0;                         // that a call is predicted to take; 0: not known
};

// The last part is the kernel.
std::string print_dot(std::span<const GraphPart> parts);
// Needs no other file. It is moved and made larger with the mouse or with fingers.
std::string print_html(std::span<const GraphPart> parts);

} // namespace broadloom::text
