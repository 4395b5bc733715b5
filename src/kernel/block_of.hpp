// A block of the outputs of a kernel: some positions of the axes that are cut, and what is read
// there of each input.
//
//   out y[i] = sum(pad(x, 0: (1, 1), edge)[2*i + u] * w[u], u)      x : f32[1000], w : f32[3]
//
// At i in 0..10 reads x from 0 to 20, and at i in 100..110 from 199 to 220. A window is seen in a
// box (viewer.hpp), as the parts of one call see it, so a block is computed as the whole is.
#pragma once

#include "kernel/by_parts.hpp"
#include "kernel/operands.hpp"
#include "kernel/viewer.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace broadloom::kernel {

// Why outputs are not computed block by block along the axis; empty: they are.
std::string why_no_block(const spec::TypedSpec &spec, int axis);

// The kernel of a block: it is given its windows, and behind them the numbers that `parts` then
// says. None where masks stand in the way (part_spec.hpp).
std::optional<spec::TypedSpec> block_spec(const spec::TypedSpec &spec, expr::AxisSet axes,
                                          ByParts &parts);

// Positions of a dim.
struct Positions {
  std::int64_t begin = 0, end = 0;
  friend bool operator==(const Positions &, const Positions &) = default;
};

// [input][dim], of those that a call is given, which lie as `given` says. Axes that are not cut
// have a negative count in `whole` and `box`.
// Positions that an input says may be any.
std::vector<std::vector<Positions>> reads_in(const spec::TypedSpec &spec, Viewer &viewer,
                                             std::span<const Layout> given, const Box &whole,
                                             const Box &box);

} // namespace broadloom::kernel
