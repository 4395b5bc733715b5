// The passes of LLVM's code generator that kernels need.
//
// Problem: LLVM's own list is for all languages, and takes most of the time until a kernel is
// called first. A third of that and more is loop strength reduction, which finds little here, as
// the emitter lets addresses walk by itself.
// Method: the passes on IR are listed one by one, with what each is for; the passes on machine code
// are LLVM's, but for those that can have nothing to do.
#pragma once

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Pass.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

namespace broadloom::jit {

// From IR to a file of this type, written to `out`, which lives as long as the passes. False where
// LLVM has no code generator of that kind.
bool add_machine_passes(llvm::TargetMachine &machine, llvm::legacy::PassManager &passes,
                        llvm::raw_pwrite_stream &out, llvm::CodeGenFileType type);

// One of them, which mends an error of LLVM 19: mask_widening.cpp.
llvm::FunctionPass *make_mask_widening();

} // namespace broadloom::jit
