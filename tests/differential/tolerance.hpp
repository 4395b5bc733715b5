// How far an element of an output may be from that of the reference, where bits need not be equal:
// docs/command_line.md has the bound.
#pragma once

#include "ops/ops.hpp"

#include <span>

namespace broadloom::differential {

// 64 u sum|x| from the order of summation, and the last rounding of either side. `absolute`:
// sum|x|, of f64.
bool within_bound(ops::Scalar a, ops::Scalar b, DType dtype, ops::Scalar absolute);

// To a few digits of the element and of the greatest value of the output.
bool loosely_equal(ops::Scalar a, ops::Scalar b, DType dtype, double greatest);
double greatest_of(std::span<const unsigned char> bytes, DType dtype); // 0 where it has no floats

// Off by 4 times what it moves at most, in any of the draws of reference::evaluate_shaken.
bool within_moves(ops::Scalar got, ops::Scalar expected, DType dtype,
                  std::span<const ops::Scalar> moved);

} // namespace broadloom::differential
