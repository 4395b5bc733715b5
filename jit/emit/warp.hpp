// How the threads of a warp come into a phase, and what they call there.
//
//   i32 bl_warp_thread()                        0 <= number < 32 of the thread in its warp
//   i32 bl_warp_shuffle(i32 value, i32 number)  the value of the thread of this number, modulo 32
//   void bl_warp_meet()                         all threads have come here, and what they stored is seen
//   void bl_warp_run(phase, frame, lo, hi)      where a processor plays the warp: runs the phase in all threads
//
// On a device these are single instructions; jit/native/warp.hpp has them for a processor.
#pragma once

#include "jit/native/target.hpp"
#include "loop/loop.hpp"

#include <cstddef>

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace broadloom::jit {

inline constexpr const char *warp_thread = "bl_warp_thread";
inline constexpr const char *warp_shuffle = "bl_warp_shuffle";
inline constexpr const char *warp_meet = "bl_warp_meet";
inline constexpr const char *warp_run = "bl_warp_run";

// What a kernel of a device is launched with: words of eight bytes, the tables of the frame one after the other, then how the
// boxes are cut. The numbers are the places of the tables' first words.
struct LaunchLayout {
  LaunchLayout(const loop::Program &program, std::size_t parallel);
  std::size_t extents = 0, chunks, strides, buffers;
  std::size_t boxes;          // their number
  std::size_t counts, grains; // [parallel axis]: boxes along it, and positions of each
  std::size_t words;
};

// Makes the function that a phase is called by, of the one that each of its threads runs.
void enter_warp(llvm::Module &module, const loop::Program &program, std::size_t number,
                llvm::Function &phase, const Target &target);

// The bodies of what is called above, for a device.
void define_warp(llvm::Module &module);

} // namespace broadloom::jit
