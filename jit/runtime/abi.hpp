// The only contract between emitted code and the rest: what a phase is called with.
//
// A phase of a loop program becomes one C function
//
//   void phase(const struct frame *frame, const int64_t *lo, const int64_t *hi);
//
//   struct frame {                // version 1
//     uint64_t       version;
//     const int64_t *extents;     // [axis]            positions of each axis; of a chunk axis, its
//                                                      chunks
//     const int64_t *chunks;      // [axis]            positions per chunk of a cut axis, else 0
//     const int64_t *strides;     // [buffer * axes + axis]  in elements, 0 where the buffer does
//                                 not walk
//     char *const   *buffers;     // [buffer]          address of the element at position 0 of all
//                                                      axes
//   };
//
// that runs the box lo[k] <= position < hi[k] of the phase's parallel axes, outermost first, and
// reads lo and hi only for those axes. It does not throw, allocate or call back, save for libm
// functions; the caller has put the default floating-point control bits in place
// (support/float_control.hpp).
#pragma once

#include "loop/loop.hpp"

#include <cstddef>
#include <cstdint>

namespace broadloom::jit {

// Runs one phase on the box lo[k] <= position < hi[k] of its parallel axes.
using PhaseFn = void (*)(const loop::Frame *frame, const std::int64_t *lo, const std::int64_t *hi);

inline constexpr std::uint64_t abi_version = 1;

static_assert(sizeof(loop::Frame) == 40);
static_assert(offsetof(loop::Frame, version) == 0);
static_assert(offsetof(loop::Frame, extents) == 8);
static_assert(offsetof(loop::Frame, chunks) == 16);
static_assert(offsetof(loop::Frame, strides) == 24);
static_assert(offsetof(loop::Frame, buffers) == 32);

} // namespace broadloom::jit
