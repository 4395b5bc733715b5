// Extents that an output or a let says: `out y[i < 2*extent(x, 0)]`.
#pragma once

#include "kernel/operands.hpp"
#include "spec/spec.hpp"

namespace broadloom::kernel {

// The shape that is said, without strides; `given` are the operands before it. Throws ShapeError
// E0144 for an extent below 0, E0112 for one that is too large.
Layout said_layout(const spec::TypedInput &said, Operands given);

} // namespace broadloom::kernel
