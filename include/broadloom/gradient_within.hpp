// Gradients of which the forward pass saves what fits into so many bytes.
//
//   bl::SavingGradient made = bl::gradient_within(net, {"w"}, {.bytes = 64 << 20,
//                                                 .inputs = {{"x", x}, {"w", w}}});
//   made.forward       net with outputs saved_0, saved_1, ..
//   made.backward      the gradient, with these as inputs; what else it needs it computes again
#pragma once

#include <broadloom/gradient.hpp>
#include <broadloom/kernel.hpp>

namespace broadloom {

struct SaveWithin {
  std::int64_t bytes = 0;
  std::vector<NamedView> inputs =
      {}; // of a call to come: their shapes matter, and no elements are looked at
};

struct SavingGradient {
  LoopSpec forward, backward;
  std::int64_t bytes = 0; // that are saved, for these inputs
  std::size_t saved = 0;  // so many values
  std::size_t wanted = 0; // of those that the backward pass reads or would save
};

// Those values are saved that cost most to compute again for each of their bytes. Only lets that
// are arrays count, if there are some, else any values. keep() around a value saves it in any case,
// recompute() never. Every choice gives the same bits, as Policy::save does. Throws what `gradient`
// throws, and what a call throws for inputs of wrong shapes. Throws SpecError E0610 if values in
// keep() take more bytes, or nothing tells the extents of an input.
SavingGradient gradient_within(const LoopSpec &spec, const std::vector<std::string> &wrt,
                               const SaveWithin &within, const GradientOptions &options = {});

} // namespace broadloom
