// Inside the gradient check: the same kernel in f64 and c128.
//
//   in x : f16[i]              in x : f64[i]
//   out z : f32 = f16(x) * 3   out z : f64 = f64(x) * 3
//
// A value that is rounded to f16 or f32 is a staircase: its differences say nothing of its slope. Inputs,
// casts, `acc=`, declared outputs and the definitions that the kernel uses become wide; derivative clauses
// stay beside their functions.
#pragma once

#include "spec/spec.hpp"

namespace broadloom::grad {

DType wide(DType dtype); // f64 for floats, c128 for complex numbers, others as they are

SpecData widened(const SpecData &data);

} // namespace broadloom::grad
