// Padding without copies: the interior of a call, where nothing that is read lies in a border, and
// the boxes around it.
//
//   out y[i, j] = pad(x, 0: (1, 1), 1: (1, 1))[i, j + 1] +
//                 pad(x, 0: (1, 1), 1: (1, 1))[i + 2, j + 1]
//       x : f32[4096, 4096]
//
// is computed for i in 1..4095 from x itself, and for the first and the last two rows from copies
// of some padded rows.
//
// Each box is a call of the kernel on views of its operands, so all that it computes must be the
// same in a part as in the whole: no fold or scan goes along an axis that is split. Where positions
// are asked for, a part is a call of a kernel that is told them, and of residue classes each is
// taken for itself (by_parts.hpp).
//
// No box has one position of an axis that has more: an axis of 1 is none, and the tree of a fold
// follows from the axes around it.
#pragma once

#include "kernel/by_parts.hpp"
#include "kernel/operands.hpp"
#include "kernel/viewer.hpp"

#include <cstdint>
#include <vector>

namespace broadloom::kernel {

// Of each class the interior last; no parts where the call is better made as a whole: where the
// copies of the arrays with borders would take less than `least_bytes`, and as many points are not
// masked, where the interior is less than half of all, or where operands differ in the extent of an
// axis. `operands` are those of the whole with its windows; those behind the windows are outputs.
// `by_parts` may be null. Classes follow from it and from shapes alone.
struct Split {
  struct Part {
    Box box;
    PartKind kind = PartKind::Whole;
  };
  Box whole;
  std::vector<Part> parts;
};
Split interior_and_borders(const spec::TypedSpec &spec, Viewer &viewer, Operands operands,
                           std::int64_t least_bytes, const ByParts *by_parts);

// The part of an operand, no window, that lies in the box. An array that only windows see may have
// other extents than its axes.
AnyView part_of(const spec::TypedSpec &spec, std::size_t index, const AnyView &operand,
                const Box &whole, const Box &box);

} // namespace broadloom::kernel
