// From what the user said to a graph in which nothing is left to infer.
#pragma once

#include "spec/spec.hpp"

namespace broadloom::analysis {

// Throws SpecError, DTypeError, ShapeError. Iterative, linear in the size of the expression.
spec::TypedSpec analyse(const SpecData &data);

} // namespace broadloom::analysis
