// GDB's interface for run-time compilers: object files in memory that a debugger reads.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h>

#include <cstdint>

namespace broadloom::jit {

// An object file that debuggers know of as long as this lives. Thread-safe.
class GdbEntry {
public:
  // `object` is an ELF object file as the code generator wrote it, `text` where its .text was put.
  GdbEntry(llvm::SmallVector<char, 0> object, std::uint64_t text);
  GdbEntry(const GdbEntry &) = delete;
  GdbEntry &operator=(const GdbEntry &) = delete;
  ~GdbEntry();

private:
  llvm::SmallVector<char, 0> object_;
  jit_code_entry entry_{}; // in the list of all that there are
};

} // namespace broadloom::jit
