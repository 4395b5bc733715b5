// Loop programs as native code: the one seam to LLVM's code generator and linker.
//
//   auto code = jit::compile_native(program, jit::find_target(""));
//   code->phases()[0](&frame, lo, hi);       // the same bits as loop::interpret(program, 0, ..)
#pragma once

#include "jit/native/code.hpp"
#include "jit/native/profile.hpp"
#include "jit/native/target.hpp"
#include "loop/listing.hpp"

#include <memory>
#include <string>

namespace broadloom::jit {

// Throws CompileError E0501, with LLVM's message, where native code cannot be had. Thread-safe.
// The tools of `profile` are told of the code, under the program's name (profile.hpp).
std::shared_ptr<const Code> compile_native(const loop::Program &program, const Target &target,
                                           Profile profile = Profile::none);

// The same with other blocks than those that are chosen for the target.
std::shared_ptr<const Code> compile_native(const loop::Program &program, block::Program blocks,
                                           const Target &target, Profile profile = Profile::none);

// The program as LLVM IR after all passes, and as assembly. With a listing of the program, `.loc`
// directives give its lines.
std::string llvm_text(const loop::Program &program, const block::Program &blocks,
                      const Target &target);
std::string asm_text(const loop::Program &program, const block::Program &blocks,
                     const Target &target, const loop::Listing *listing = nullptr);

} // namespace broadloom::jit
