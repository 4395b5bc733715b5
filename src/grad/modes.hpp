// Inside the gradient stage: derived outputs as a person would write them.
//
//   out d_y : f64 = sum(d_z * x, like=y)     ->     out d_y : f64 = reduce(sum, like=y) d_z * x
//   out d_x : f64 = sum(d_z * y, like=x)     ->     out d_x : f64 = d_z * y
//   out d_x : f64 = sum(d_s, like=x)         ->     out d_x : f64 = broadcast(like=x) d_s
//
// The last two where labels say that nothing is ever folded.
#pragma once

#include "spec/spec.hpp"

namespace broadloom::grad {

// Of the outputs from `first` on: a value that is a sum like whole inputs. Where lets of the kernel
// are arrays (`has_arrays`), axes are those of several kernels, and `reduce` says it in any case.
void write_as_modes(SpecData &data, std::size_t first, bool has_arrays);

// The value with such a mode written out.
Expr without_mode(const OutputDecl &output);

} // namespace broadloom::grad
