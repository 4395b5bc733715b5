// Calls whose masks ask for positions, in parts: what a gradient through windows is.
//
//   d_x[h] = sum(where(h - u >= 0 && h - u < 2*n && (h - u) % 2 == 0, d_y[(h - u) / 2] * k[u],
//                    0), u)
//
// Residue classes: an even h meets no odd u, so h = 2*q + r is computed from u = 2*v + r alone, and
// nothing is added up that is nothing. A class is a call on every second element of all that lies
// along h or u, in which d_y is read at q - v. Its sums have fewer terms, and so an order of their
// own: whether a kernel has classes follows from its text alone.
//
// Interior: where all conditions hold for every u they are not asked, and d_y is read where it
// lies. Around it, in borders, they are. Of equations, as `h == 0` of what an edge repeats, the
// interior is where none holds, and what they guard is 0.
//
// A part asks where it lies by numbers that it is given: the first position of an axis, and the
// extent of the whole.
#pragma once

#include "kernel/affine.hpp"
#include "kernel/part_spec.hpp"
#include "spec/spec.hpp"

#include <vector>

namespace broadloom::kernel {

// As it is in the whole; with its conditions; without.
enum class PartKind : std::uint8_t { Whole, Border, Interior };
struct PartId {
  PartKind kind = PartKind::Whole;
  std::size_t group = 0; // of a border or interior: which of the ByParts
  friend bool operator==(const PartId &, const PartId &) = default;
};

// Of some outputs, which are computed by calls of their own.
struct ByParts {
  std::vector<std::size_t> outputs;
  expr::AxisSet axes;              // along which outputs may be computed in parts
  std::vector<std::int64_t> steps; // [axis]: from one position of a class to the next
  // A multiple of the divisor: at a position along `of` those of `folded` are, every divisor-th.
  struct Residue {
    Condition condition;
    int of = 0, folded = 0;
  };
  std::vector<Residue> residues;
  std::vector<Condition>
      conditions;    // that hold in the interior, equations nowhere; none: it is as its borders are
  expr::Graph graph; // that `other` of conditions is in, where some have one
  std::vector<expr::AxisSet> masked; // the axes of what they mask
  bool has_interior = true;
  using Number = PartNumber;
  std::vector<Number> numbers;
  std::vector<bool> read_inside; // [input]: does the interior read it?
  spec::TypedSpec border,
      interior; // what parts compute; windows are given to them as other inputs are
};

// Of all outputs together, or of those alone that fold nothing that others do. None where no mask
// asks for a position. Linear in the size of the graph.
std::vector<ByParts> by_parts(const spec::TypedSpec &spec);

// The axes along which a part of the outputs is computed as it is in the whole, but for the
// positions that are asked for.
expr::AxisSet separable_axes(const spec::TypedSpec &spec);

} // namespace broadloom::kernel
