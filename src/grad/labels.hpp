// Inside the gradient stage: labels for axes that inputs meet by their position.
//
//   in  x : f64[:, :]        in  x : f64[i0, i1?]
//   in  y : f64[:]           in  y : f64[i1?]
//   out s = sum(x * y, 1)    out s = sum(x * y, i1)
#pragma once

#include "spec/spec.hpp"

#include <optional>

namespace broadloom::grad {

// Where inputs meet, may a dim of 1 be repeated, as before? Else all that meet are equally long.
enum class Stretch { Kept, Dropped };

// None where no axis lacks a label or has a number, or names for them do not exist: two lets that
// are arrays count other axes, or one has an input elsewhere than another does. `data` has all
// inputs declared and only calls that stay.
std::optional<SpecData> labelled(const SpecData &data, Stretch stretch);

// Whether some axis is named by its number, as in `sum(x, -1)`.
bool counts_axes(const SpecData &kernel);

} // namespace broadloom::grad
