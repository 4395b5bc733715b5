// The machine that native code is made for.
#pragma once

#include "block/block.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::jit {

// A set of instructions: what LLVM calls it, and what its vectors are like. All that code, math and
// files on disk take from an architecture is here; jit/engine/capture.cpp has what a linker must
// know of its instructions.
struct Isa {
  std::string_view name;       // "x86-64-v4", "x86-64-v3", "aarch64", "sm_90" or "warp"
  std::string_view triple;     // LLVM's name of the platform
  std::string_view cpu;        // LLVM's name of a processor that has no more than `features` adds
  std::string_view features;   // "+sse3,+ssse3,.."
  std::string_view math;       // of the embedded bitcode: jit/math/embedded.hpp
  support::Machine core;       // without its memory and threads
  std::uint16_t elf = 0;       // what the ELF format calls the architecture
  bool fences_streams = false; // stores around the caches are not ordered with others
  bool device = false;         // a GPU, which this process reaches through its driver
  bool has_range = false;      // one instruction takes the greater with -0 < +0, NaN being missing
};

// Null for a name that is unknown.
const Isa *find_isa(std::string_view name);

struct Target {
  const Isa *isa;         // never null
  std::string cpu;        // what the processor calls itself
  bool asks_ahead = true; // whether code asks for memory before it is read

  int vector_bits() const { return isa->core.vector_bits; }
};

// Its core, as choices know it; caches and threads are not of the target.
support::Machine machine_of(const Target &target);

// What code of the target is made from, unless other blocks are given.
block::Program blocks_of(const loop::Program &program, const Target &target);

// The target of a request: "" means BROADLOOM_TARGET, or this machine where that is not set; else
// "native" or the name of an Isa. Throws CompileError E0503 for a name that is unknown or for
// code that could not run on this machine.
Target find_target(std::string_view request);

// That of code which runs elsewhere, whatever this machine is. Throws CompileError E0503 for an
// unknown name.
Target target_to_build(std::string_view name);

// The names of all of its architecture, the widest vectors first, and behind them those of others
// for which it makes code.
std::vector<std::string> targets_to_build(bool also_of_others);
// The ELF format's name of the architecture of all of these; this machine's where there is none.
// Throws CompileError E0503 for several, and for what this machine makes no code for.
std::uint16_t machine_to_build(const std::vector<std::string> &targets);

// The names of all that this machine can run, the narrowest vectors first.
std::vector<std::string> targets_here();

} // namespace broadloom::jit
