// Do operands share memory? A kernel writes its outputs in an order of its own, so two outputs, or
// two elements of one output, may not meet; an input that meets an output is copied first.
#pragma once

#include <broadloom/array.hpp>

#include <cstddef>
#include <cstdint>

namespace broadloom::kernel {

// The bytes that an array reaches, relative to its data pointer: low <= offset < high.
struct Reach {
  std::int64_t low = 0, high = 0; // equal where there are no elements
};

// What the address of an element must be a multiple of: its size, or that of a complex number's
// parts.
inline std::size_t alignment_of(DType dtype) { return size_of(real_dtype(dtype)); }

// The layout must have passed `strided_layout`.
Reach reach_of(const Layout &layout, DType dtype);

struct Span { // the same in memory
  std::uintptr_t low = 0, high = 0;
};
inline Span span_of(const void *data, const Reach &reach) {
  const auto base = reinterpret_cast<std::uintptr_t>(data);
  return {base + std::uintptr_t(reach.low), base + std::uintptr_t(reach.high)};
}
// Of all elements.
inline Span memory_of(const AnyView &view) {
  return span_of(view.data, reach_of(view.layout, view.dtype));
}
inline bool meet(const Span &a, const Span &b) {
  return a.low < b.high && b.low < a.high && a.low != a.high && b.low != b.high;
}

// Whether two elements of different indices have the same address. Exact, save for strides so
// entangled that the search gives up, which counts as overlap.
bool overlaps_itself(const Layout &layout);

// Whether a byte belongs to elements of both views: exact in the same sense.
bool elements_meet(const AnyView &a, const AnyView &b);

} // namespace broadloom::kernel
