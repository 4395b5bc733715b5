// The slow truth: a spec evaluated node by node, straight from its definition.
//
// It shares nothing with the planner, the loop IR or native code, save the definition of each
// operation on one element; everything else is tested against it. Folds of floats are summed with
// compensation in extended precision, so their results are right where those of any order of plain
// additions may be off in the last bits.
//
// Method: each node of the typed graph, arguments first, becomes an array over its own axes, with
// no thought of what comes later. So memory is wanted for all points of a node in its dtype, of all
// nodes that are still to be read: for x / sum(x * x, j) of f64 [1000, 1000] 16 MB and the result.
// Threads share out positions whose values do not depend on each other: the bits are the same for
// any number of them.
//
//   reference::evaluate(spec, {x, y}, {})   gives one new array for each output, in declared order
#pragma once

#include "reference/lets.hpp"

#include <broadloom/array.hpp>

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace broadloom::reference {

// `initial_outputs` holds what `+=` adds to, one view for each output; zeros where it is empty.
// Throws ShapeError E0101 (rank), E0102 (extents), E0112 (too many points), E0120 (an initial
// output of another shape), DTypeError E0203 and DataError E0307 (min or max of nothing);
// CancelledError E0701 once `cancel` is true. `threads` is the most that work; 0: as many as the
// machine runs at a time.
std::vector<Array> evaluate(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                            std::span<const AnyView> initial_outputs = {},
                            const std::atomic<bool> *cancel = nullptr, int threads = 0);

// The same, as if the elements that inexact folds and scans read were off by up to `units` units of
// what these accumulate in, at random, in another way for each `draw`. With 64 a sum is then off by
// up to 64 units of the sum of sizes, which is what legal orders of adding up may differ by, and
// whatever is made of it moves as it must. How far the outputs of a few draws lie from those of
// `evaluate` bounds how far any engine may lie from them.
std::vector<Array> evaluate_shaken(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                                   std::span<const AnyView> initial_outputs, double units,
                                   std::uint64_t draw, const std::atomic<bool> *cancel = nullptr);

// Shows the elements of every node, arguments first, in C order over the node's own axes. `visit`
// may change them: nodes that read them are made of what it leaves. With a pin those of one step of
// a loop over time, whose earlier steps are there.
using Visit = std::function<void(expr::NodeId, const Array &)>;
void evaluate_nodes(const spec::TypedSpec &spec, std::span<const AnyView> inputs,
                    const Visit &visit, const std::atomic<bool> *cancel = nullptr,
                    std::optional<Pin> pin = std::nullopt);

// The lets that go step by step together from `first` on (spec/recurrence.hpp), for the inputs of a
// call and the lets before them: all steps, one after the other, each with what it begins with
// before or behind it. `steps_alone` (time_loop.hpp) leaves that out.
std::vector<Array> evaluate_loop(spec::LetKernels lets, std::size_t first,
                                 std::span<const AnyView> inputs, std::span<const AnyView> before,
                                 const std::atomic<bool> *cancel = nullptr, int threads = 0);

} // namespace broadloom::reference
