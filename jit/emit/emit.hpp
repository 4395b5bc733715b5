// Loop IR -> LLVM IR.
//
// Every phase of a program becomes one function, `phase_<k>(frame, lo, hi)`, that runs the box
// lo[j] <= position < hi[j] of the phase's parallel axes: the same contract, and the same bits, as
// loop::interpret. The functions are already vector code; LLVM's own vectorisers are not wanted.
#pragma once

#include "jit/engine/target.hpp"
#include "loop/listing.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace broadloom::jit {

// `listing`, where given, is of this program: its lines become debug locations, for code that is only shown.
// With `count_paths` the code counts the ways that it takes (paths.hpp).
std::unique_ptr<llvm::Module> emit(const loop::Program &program, const Target &target,
                                   llvm::LLVMContext &context,
                                   const loop::Listing *listing = nullptr,
                                   bool count_paths = false);

// How a vector loop is run.
struct LoopWidth {
  std::size_t phase = 0;
  loop::LoopId loop;
  int lanes = 1;  // positions of one group
  int groups = 1; // copies of the body, or registers of one wide group, in a turn
  int rows = 1;   // of a loop around, together
  enum class Shape { Map, ColumnBlock, RowBlock, Fold, HeavyFold, Scan } shape = Shape::Map;
  bool narrow = false; // all types are of at most two bytes
};
std::vector<LoopWidth> loop_widths(const loop::Program &program, const Target &target);

// The name of the function of a phase: "phase_0".
std::string phase_name(std::size_t phase);

// Brings the bodies of the vector math functions that the module calls (bl_exp_f32x16, ..) into it,
// ready to be inlined, from the bitcode that was embedded at build time. Returns whether there were
// any.
bool link_math(llvm::Module &module, const Target &target);

} // namespace broadloom::jit
