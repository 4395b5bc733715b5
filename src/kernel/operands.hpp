// What a kernel is called with: operands, and how they lie.
#pragma once

#include <broadloom/array.hpp>

#include <span>
#include <vector>

namespace broadloom::kernel {

// The operands of a call: inputs, then outputs, in declared order; null for an output not wanted.
using Operands = std::span<const AnyView *const>;

struct Layouts {
  std::vector<Layout> inputs, outputs; // an output not wanted has one too, for its shape
  std::vector<bool> wanted;            // [output]
};

} // namespace broadloom::kernel
