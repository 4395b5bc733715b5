// Gathers: windows that take positions from elements of other inputs, x[k[i], j].
//
//   x : f32[5, 3], k : [4, 0]        x[k[i], j] is [[x40, x41, x42], [x00, x01, x02]]
//
// A call looks at all positions (positions.hpp), and only then copies what they say, as long as nothing is written. So no kernel ever
// reads at a position that was not checked, and an output may lie on x or on k.
#pragma once

#include "kernel/positions.hpp"

namespace broadloom::kernel {

// Fills `to`, which lies in C order, with what a gather reads of `of`: the array, or a copy of it with the borders that the gather sees.
// `operands` are views of all inputs before it. Throws DataError E0315.
void gather(const spec::TypedSpec &spec, std::size_t window,
            std::span<const AnyView *const> operands, const AnyView &of, const Array &to,
            const RunTasks &tasks);

} // namespace broadloom::kernel
