// Telling profilers and debuggers where the functions of a kernel lie. Off unless somebody asks.
//
// Every tool shows a function by the same name:
//
//   broadloom.softmax.phase_0.5e0ff1c2      kernel softmax, its first phase, and the pattern of layouts
//   broadloom.softmax.bl_lgamma.5e0ff1c2    a function that its code calls
//
// The pattern is a hash of all that the code depends on, and so the same in every run.
#pragma once

#include <broadloom/options.hpp>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/MemoryBufferRef.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::jit {

constexpr bool has(Profile set, Profile one) { return (unsigned(set) & unsigned(one)) != 0; }

// The words of BROADLOOM_PROFILE: "perf,gdb". Those that name no tool are added to `unknown`.
Profile parse_profile(std::string_view words, std::vector<std::string> &unknown);

// `wanted` and what BROADLOOM_PROFILE names. The variable is read once; a word in it that names no tool
// is a warning.
Profile find_profile(Profile wanted);

// "broadloom.softmax.phase_0.5e0ff1c2". A character of the kernel's name that is neither a letter, a digit
// nor `_` becomes `_`.
std::string profile_name(std::string_view kernel, std::string_view function, std::uint64_t pattern);

// A function of an object file.
struct Function {
  std::string name;
  std::uint64_t offset = 0, size = 0; // bytes, from the start of .text
};

// The functions in the .text of an object file, in no particular order.
std::vector<Function> functions_of(llvm::MemoryBufferRef object);

// Adds a line for each function to /tmp/perf-PID.map. Code that is freed later keeps its lines: the format
// has no way to take one back. Where the file cannot be written, or is not this user's own plain file, a
// warning says so, once. Thread-safe.
void append_perf_map(llvm::ArrayRef<Function> functions, std::uint64_t text);

// Adds the functions, with their code, to the jitdump file of this process (jitdump.cpp says where it is).
// Where it cannot be written, a warning says so. Thread-safe.
void append_jitdump(llvm::ArrayRef<Function> functions, std::uint64_t text);

} // namespace broadloom::jit
