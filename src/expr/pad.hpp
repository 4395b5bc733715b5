// Padding of an input that is read at positions: more elements before and behind those of a dim.
//
//   pad(x, i: (1, 2), edge)[i + u]     x0 x1 x2   is read as   x0 x0 x1 x2 x2 x2
//
// Position 0 is the first element before. One dim is padded once; several pads are of several dims,
// and where two of them say what a corner holds, the later one does, as np.pad(np.pad(x, ..), ..)
// would.
#pragma once

#include "expr/node.hpp"

#include <functional>

namespace broadloom {

enum class PadMode : std::uint8_t { Constant, Edge, Wrap, Reflect };

struct DimPad {
  std::size_t dim = 0; // of the input
  std::int64_t before = 0, after = 0;
  PadMode mode = PadMode::Constant;
  Number value; // Constant
};

constexpr std::int64_t most_padding = std::int64_t(1) << 40; // so that no sum of extents overflows

// "edge", "3", and nothing for zero, which is what is meant where nothing is said.
std::string print_filling(const DimPad &pad);
// "pad(x, i: (1, 2), edge)"; those that are filled alike stand in one.
std::string print_pads(const InputDecl &of, const std::vector<DimPad> &pads);

// A place with its source line, which takes a walk through the text: asked for where there is
// something to tell.
using PlaceOf = std::function<Place()>;

// A dim of an input or a let by label or number; of a let only its number is known. `purpose` ends
// the message: "to pad". Throws ShapeError E0104; `shown` has its source line.
std::size_t dim_of(const InputDecl &of, const AxisRef &dim, const std::string &purpose,
                   const PlaceOf &shown);

// Adds one to those of an input: `dim` by label or number. Throws SpecError E0024, E0006,
// ShapeError E0104; `shown` has its source line.
void add_pad(std::vector<DimPad> &pads, const InputDecl &of, const AxisRef &dim, DimPad pad,
             const PlaceOf &shown);

} // namespace broadloom
