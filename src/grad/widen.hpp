// Inside the gradient check: the same kernel in f64 and c128.
//
//   in x : f16[i]              in x : f64[i]
//   out z : f32 = f16(x) * 3   out z : f64 = f64(x) * 3
//
// A value that is rounded to f16 or f32 is a staircase: its differences say nothing of its slope.
// Inputs, casts, `acc=`, declared outputs and the definitions that the kernel uses become wide;
// derivative clauses stay beside their functions.
#pragma once

#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <span>

namespace broadloom::grad {

DType wide(DType dtype); // f64 for floats, c128 for complex numbers, others as they are

SpecData widened(const SpecData &data);
Array widened(const AnyView &view); // a C-contiguous copy

// Real or complex: it has slopes.
inline bool is_continuous(DType dtype) { return is_float(dtype) || is_complex(dtype); }

// The real numbers that an f64 or c128 array in C order is made of.
std::span<double> parts(const Array &array);

} // namespace broadloom::grad
