// Lets that go step by step together (spec/recurrence.hpp), from the definition: one position of
// time after the other.
#pragma once

#include "spec/materialise.hpp"

#include <broadloom/array.hpp>

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace broadloom::reference {

// One position of an axis in place of all.
struct Pin {
  int axis = 0;
  std::int64_t at = 0;
};

// The output of a kernel that has one, at one position or at all.
using EvaluateOne =
    std::function<Array(const spec::TypedSpec &, std::span<const AnyView>, std::optional<Pin>)>;

// [member]: the shapes of the lets from `first` on, for the inputs of a call and the lets before
// them.
std::vector<std::vector<std::int64_t>> loop_shapes(spec::LetKernels lets, std::size_t first,
                                                   std::span<const Layout> inputs,
                                                   std::span<const Layout> before);

// [member]: the arrays, with what they begin with before or behind their steps.
std::vector<Array> run_loop(spec::LetKernels lets, std::size_t first,
                            std::span<const AnyView> inputs, std::span<const AnyView> before,
                            const EvaluateOne &evaluate);

// Without what they begin with.
Array steps_alone(const spec::Recurrence &loop, const AnyView &with_start);

} // namespace broadloom::reference
