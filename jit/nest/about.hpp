// What this Broadloom is made of and what it finds on this machine: for `broadloom --version`.
#pragma once

#include <string>

namespace broadloom::jit {

struct About {
  std::string llvm, onetbb; // versions of the libraries that are loaded
  std::string compiler;     // that built Broadloom
  std::string cpu;          // LLVM's name of the processor
  std::string level;        // "x86-64-v4"; empty where there is no native code
  int vector_bits = 0;
  std::string features;  // of the level: "sse3,ssse3,.."
  std::string no_native; // the reason, where `level` is empty
  int threads = 0;       // that a kernel gets by default
};

// BROADLOOM_TARGET and BROADLOOM_THREADS count.
About about();

} // namespace broadloom::jit
