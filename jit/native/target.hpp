// The machine that native code is made for.
#pragma once

#include "block/block.hpp"

#include <string>
#include <string_view>

namespace broadloom::jit {

struct Target {
  std::string name;       // "x86-64-v4", "x86-64-v3" or "native"
  std::string cpu;        // what the processor calls itself
  std::string features;   // LLVM's feature string: the instructions that may be used
  int vector_bits = 256;  // 512 or 256
  bool asks_ahead = true; // whether code asks for memory before it is read

  bool avx512() const { return vector_bits == 512; }
};

// What the processor calls itself: "AMD EPYC 9R14".
std::string name_of_processor();

// Its core, as choices know it; caches and threads are not of the target.
support::Machine machine_of(const Target &target);

// What code of the target is made from, unless other blocks are given.
block::Program blocks_of(const loop::Program &program, const Target &target);

// The target of a request: "" means BROADLOOM_TARGET, or this machine where that is not set; else
// "native", "x86-64-v3" or "x86-64-v4". Throws CompileError E0503 for a name that is unknown or for
// code that could not run on this machine.
Target find_target(std::string_view request);

} // namespace broadloom::jit
