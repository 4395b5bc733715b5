// The functions of an object file, and telling profilers of them: see jit/native/profile.hpp.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/MemoryBufferRef.h>

#include <cstdint>
#include <string>
#include <vector>

namespace broadloom::jit {

// A function of an object file.
struct Function {
  std::string name;
  std::uint64_t offset = 0, size = 0; // bytes, from the start of .text
};

// The functions in the .text of an object file, in no particular order.
std::vector<Function> functions_of(llvm::MemoryBufferRef object);

// Adds a line for each function to /tmp/perf-PID.map. Code that is freed later keeps its lines: the
// format has no way to take one back. Where the file cannot be written, or is not this user's own
// plain file, a warning says so, once. Thread-safe.
void append_perf_map(llvm::ArrayRef<Function> functions, std::uint64_t text);

// Adds the functions, with their code, to the jitdump file of this process (jitdump.cpp says where
// it is). Where it cannot be written, a warning says so. Thread-safe.
void append_jitdump(llvm::ArrayRef<Function> functions, std::uint64_t text);

} // namespace broadloom::jit
