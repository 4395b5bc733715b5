// What a kernel is called with: operands, and how they lie.
#pragma once

#include <broadloom/array.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace broadloom::kernel {

// The operands of a call: inputs, then outputs, in declared order; null for an output not wanted.
using Operands = std::span<const AnyView *const>;

// How the windows of a call lie for the trees of folds, where some see copies (viewer.hpp); empty:
// as they lie. And which operands, bit k for operand k, a core's caches hold whatever their extents
// say: few of their rows are there at a time.
struct Lies {
  std::span<const Layout> windows = {};
  std::uint64_t near = 0;
};

inline std::vector<const AnyView *> pointers_to(std::span<const AnyView> views) {
  std::vector<const AnyView *> result;
  for (const AnyView &view : views) result.push_back(&view);
  return result;
}

inline std::vector<Layout> layouts_of(Operands operands) { // of which none is null
  std::vector<Layout> result;
  for (const AnyView *view : operands) result.push_back(view->layout);
  return result;
}

struct Layouts {
  std::vector<Layout> inputs, outputs; // an output not wanted has one too, for its shape
  std::vector<Layout> lies;            // of windows
  std::vector<bool> wanted;            // [output]
  std::uint64_t near = 0;              // as of Lies
};

} // namespace broadloom::kernel
