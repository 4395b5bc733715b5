// The kernel of a part of a call: positions and extents are numbers that it is given, and what is
// known to hold is not asked.
#pragma once

#include "spec/spec.hpp"

#include <optional>
#include <set>
#include <span>
#include <vector>

namespace broadloom::kernel {

// What a part is given behind its windows: the first position along an axis, and the extent of the
// whole.
struct PartNumber {
  enum class Kind : std::uint8_t { First, Count } kind = Kind::First;
  int axis = 0;
};

// Whether an input is such a number: "first of i", as no text names an input.
bool is_part_number(const spec::TypedInput &input);

// Those of these axes that a graph asks for.
std::vector<PartNumber> numbers_asked(const expr::Graph &graph, expr::AxisSet axes);

struct KnownConditions { // nodes
  std::set<expr::NodeId> hold, fail;
};

// `axes` are those along which a part is not the whole, `steps` ([axis]) how far its positions are
// apart. None where what is left of the masks does not have the axes that they gave, or where two
// folds become one that are different in the whole. Linear, iterative.
std::optional<spec::TypedSpec> part_spec(const spec::TypedSpec &spec,
                                         std::span<const PartNumber> numbers,
                                         std::span<const std::int64_t> steps, expr::AxisSet axes,
                                         const KnownConditions &known);

} // namespace broadloom::kernel
