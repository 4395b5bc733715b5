// The windows of a block of outputs, as its box sees them (kernel/block_of.hpp).
#pragma once

#include "jit/nest/setup.hpp"
#include "kernel/viewer.hpp"
#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <deque>
#include <optional>
#include <vector>

namespace broadloom::jit {

// Views of all inputs: those that are given, then the windows in the box. A window that is a copy,
// with borders or by positions that an input says, has its memory here.
class BlockWindows {
public:
  // `given` are as if all of the data were there. Throws what a call does for positions that an
  // input says.
  BlockWindows(const spec::TypedSpec &typed, std::vector<AnyView> given, const kernel::Box &box,
               const Setup &setup);
  std::vector<AnyView> &views() { return views_; }

private:
  AnyView padded(const kernel::Padding &padding, const AnyView &of);
  AnyView viewed(std::size_t window, const kernel::Seen &seen);
  AnyView gathered(kernel::Viewer &viewer, std::size_t window, const kernel::Seen &seen);

  const spec::TypedSpec &typed_;
  const kernel::Box &box_;
  const Setup &setup_;
  std::vector<AnyView> views_;
  std::optional<spec::TypedSpec> shifted_; // its gathers begin at the block
  std::deque<Array> copies_;
};

} // namespace broadloom::jit
