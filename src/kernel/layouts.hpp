// Layouts that nobody gave: those of outputs that a call allocates, and those that stand for a
// kernel which has not been called yet.
#pragma once

#include "spec/spec.hpp"

#include <broadloom/array.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace broadloom::kernel {

// [output][input]: whether the value of the output depends on the input or its shape.
std::vector<std::vector<bool>> inputs_read(const spec::TypedSpec &spec);

// Dims from the slowest to the fastest, by their strides. Those of 0 say nothing about the order
// and stay where C order has them (as in NumPy's 'K').
std::vector<int> slowest_first(std::span<const std::int64_t> strides);

// The layout with its extents and no gaps, the first of these dims the slowest. The size must be
// known to fit.
template <class Dims> Layout dense_in_order(Layout layout, const Dims &slowest_first) {
  std::int64_t stride = 1;
  for (std::size_t k = slowest_first.size(); k-- > 0;) {
    const auto dim = std::size_t(slowest_first[k]);
    layout.strides[dim] = stride;
    stride *= std::max<std::int64_t>(layout.extents[dim], 1);
  }
  return layout;
}

// A dense layout of `shape` in the stride order of an input read that has all axes of the output,
// that with which the fewest bytes are read against their order; C order where there is none.
Layout output_layout(const spec::TypedSpec &spec, std::size_t output,
                     const std::vector<bool> &reads, std::span<const std::int64_t> shape,
                     std::span<const Layout> inputs);

// C-contiguous inputs with the declared extents, and distinct ones larger than 1 where any would
// do.
std::vector<Layout> typical_inputs(const spec::TypedSpec &spec);

// The least extent with which dim `dim` of input `input` holds what windows read of it where the
// axes have these extents.
std::int64_t room_for_windows(const spec::TypedSpec &spec, std::size_t input, std::size_t dim,
                              std::span<const std::int64_t> extents);

// Memory for an output: zeros where the kernel adds to it, else not set.
Array allocate(const spec::TypedOutput &output, const Layout &layout);

} // namespace broadloom::kernel
