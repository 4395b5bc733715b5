// Sums through gathers from their definition: each value goes where the window reads.
#pragma once

#include "reference/loops.hpp"
#include "spec/spec.hpp"

namespace broadloom::reference {

// Of the Fold `node` (windows.hpp, is_sum_through_gather), with compensation in extended precision
// where it is of floats. Throws DataError E0315.
void sum_through_gather(const spec::TypedSpec &spec, const expr::Node &node,
                        std::span<const AnyView> inputs, const Operand &values,
                        const Extents &of_values, const Operand &sums, const Extents &of_sums);

} // namespace broadloom::reference
