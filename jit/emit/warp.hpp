// How the threads of a warp come into a phase, and what they call there.
//
//   i32 bl_warp_thread()                        0 <= number < 32 of the thread in its warp
//   i32 bl_warp_shuffle(i32 value, i32 number)  the value of the thread of this number, modulo 32
//   void bl_warp_meet()                         all threads are here, and what they stored is seen
//   ptr bl_warp_shared(i64 bytes)               memory that all of the warp share, the same in each
//                                               call
//   i64 bl_warp_number()                        of the warp on its device
//   void bl_warp_run(phase, frame, lo, hi)      runs the phase in all threads, as a processor plays
//                                               it
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
inline constexpr const char *warp_shared = "bl_warp_shared";
inline constexpr const char *warp_number = "bl_warp_number";
inline constexpr const char *warp_run = "bl_warp_run";

// Makes the function that a phase is called by, of the one that each of its threads runs.
void enter_warp(llvm::Module &module, const loop::Program &program, std::size_t number,
                llvm::Function &phase, const Target &target);

// The bodies of what is called above, for a device.
void define_warp(llvm::Module &module);

} // namespace broadloom::jit
