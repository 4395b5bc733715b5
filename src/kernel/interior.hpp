// Padding without copies: the interior of a call, where nothing that is read lies in a border, and the boxes around it.
//
//   out y[i, j] = pad(x, 0: (1, 1), 1: (1, 1))[i, j + 1] + pad(x, 0: (1, 1), 1: (1, 1))[i + 2, j + 1]      x : f32[4096, 4096]
//
// is computed for i in 1..4095 from x itself, and for the first and the last row from copies of two padded rows.
//
// Each box is a call of the kernel on views of its operands, so all that it computes must be the same in a part as in the whole: no fold,
// scan or number of positions goes along an axis that is split.
#pragma once

#include "kernel/operands.hpp"
#include "kernel/viewer.hpp"

#include <cstdint>
#include <vector>

namespace broadloom::kernel {

// The interior last; no parts where the call is better made as a whole: where the copies of the arrays with borders would take less than
// `least_bytes`, where the interior is less than half of all, or where operands differ in the extent of an axis. `operands` are those of
// the whole with its windows; those behind the windows are outputs.
struct Split {
  Box whole;
  std::vector<Box> parts;
};
Split interior_and_borders(const spec::TypedSpec &spec, Viewer &viewer, Operands operands,
                           std::int64_t least_bytes);

// The part of an operand, no window, that lies in the box. An array that only windows see may have other extents than its axes.
AnyView part_of(const spec::TypedSpec &spec, std::size_t index, const AnyView &operand,
                const Box &whole, const Box &box);

} // namespace broadloom::kernel
