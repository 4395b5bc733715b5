// LLVM IR -> object code: the passes and the code generator.
#pragma once

#include "jit/native/target.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Target/TargetMachine.h>

#include <exception>
#include <memory>

namespace broadloom::jit {

// A code generator on loan from a pool: one serves a single compilation at a time and takes long to
// make. It returns to the pool when the loan ends.
class Generator {
public:
  struct Machines;

  explicit Generator(const Target &target); // throws CompileError E0501
  Generator(const Generator &) = delete;
  Generator &operator=(const Generator &) = delete;
  ~Generator();

  void prepare(llvm::Module &module) const; // before it is optimised: the data layout
  void optimise(llvm::Module &module, bool has_math) const;
  llvm::SmallVector<char, 0> generate(llvm::Module &module, llvm::CodeGenFileType type) const;

private:
  Machines &machines_; // of this target: never freed
  std::unique_ptr<llvm::TargetMachine> machine_;
  int exceptions_ = std::uncaught_exceptions();
};

} // namespace broadloom::jit
