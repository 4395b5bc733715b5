// Inside the gradient stage: derived outputs as a person would write them.
//
//   out d_y : f64 = sum(d_z * x, like=y)     ->     out d_y : f64 = reduce(sum, like=y) d_z * x
#pragma once

#include "spec/spec.hpp"

namespace broadloom::grad {

// Of the outputs from `first` on: a value that is a sum like whole inputs becomes what its mode folds.
void write_as_modes(SpecData &data, std::size_t first);

// The value with such a mode written out.
Expr without_mode(const OutputDecl &output);

} // namespace broadloom::grad
