// Inside the gradient check: the same kernel a little aside.
//
//   out z = fmax(max(x, i), x)      out z = fmax(max(x, i) * 1.003 - 0.002, x) * 0.996 + 0.004
//
// A function may be smooth where operations that it is made of have corners: here it is max(x) whichever of two equal
// values fmax takes, but the slopes of both, when x has its greatest element twice, are no derivative of anything.
// Aside, no two values are equal by chance or by construction, none is 0 or 1, and each operation has one slope.
// A rule that is wrong is wrong there, too.
#pragma once

#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <cstdint>
#include <span>

namespace broadloom::grad {

// Every real or complex value of an input or operation, times a number near 1, plus one near 0. The floats of `data` are f64.
SpecData nudged(const SpecData &data, std::uint64_t seed);

// Is each real or complex value on the way to an output a finite number, for these inputs? One that is not may matter
// to no output, as the last element of an exclusive scan, and still make NaN of the slope, which is 0 there.
bool is_finite_throughout(const SpecData &data, std::span<const AnyView> inputs);

} // namespace broadloom::grad
