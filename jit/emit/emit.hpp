// Loop IR -> LLVM IR.
//
// Every phase of a program becomes one function, `phase_<k>(frame, lo, hi)`, that runs the box
// lo[j] <= position < hi[j] of the phase's parallel axes: the same contract, and the same bits, as
// loop::interpret. The functions are already vector code; LLVM's own vectorisers are not wanted.
#pragma once

#include "block/block.hpp"
#include "jit/native/backend.hpp"
#include "jit/native/target.hpp"
#include "loop/listing.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace llvm {
class Function;
class LLVMContext;
class Module;
} // namespace llvm

namespace broadloom::jit {

// Adds the functions of these phases. They run as `blocks` say, whoever has made them: chosen for
// the target, or given as a text. `listing`, where given, is of this program: its lines, and as
// columns the boxes, become debug locations, for code that is only shown. With `count_paths` the
// code counts the ways that it takes (paths.hpp).
void emit(llvm::Module &module, const loop::Program &program, const block::Program &blocks,
          const Target &target, std::span<const std::size_t> phases,
          const loop::Listing *listing = nullptr, bool count_paths = false);

// What instructions a function may use, and how it is tuned.
void set_attributes(llvm::Function &function, const Target &target);

// Brings the bodies of the vector math functions that the module calls (bl_exp_f32x16, ..) into it,
// ready to be inlined, from the bitcode that was embedded at build time. Returns whether there were
// any.
bool link_math(llvm::Module &module, const Target &target);

// Throws E0506 where a device lacks a function of the program. It comes before anything of LLVM is
// made, all of which an error leaves behind (whole.hpp).
void check_math(const loop::Program &program, const Target &target);

} // namespace broadloom::jit
