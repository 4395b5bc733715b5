// What needs LLVM, as a table of functions: jit/emit and jit/engine are behind it, and nothing else
// of theirs is called.
//
// Problem: LLVM's library takes 20 ms to be loaded, ten times as long as all else that a process
// does whose code comes from the disk cache.
// Method: in the shared library and in the program, what needs LLVM is a library of its own
// (libbroadloom-llvm.so), which is loaded when code is first to be made. In the static library all
// is linked together, and there is nothing to be loaded.
// Example: backend().compile(program, blocks, target, Profile::none, 1, nullptr);
#pragma once

#include "jit/native/code.hpp"
#include "jit/native/profile.hpp"
#include "jit/native/target.hpp"
#include "loop/listing.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace broadloom::jit {

// Of the locations in asm_text's listing: which box of the blocks it was made for. LLVM keeps 0 for
// "none".
inline unsigned column_of(int box) { return unsigned(box) + 1; }

struct Backend {
  // See start.hpp.
  void (*start)(const Target &target);
  // As compile_native, on so many threads. An image that is asked for is that of the code, and
  // nothing where it cannot lie elsewhere.
  std::shared_ptr<const Code> (*compile)(const loop::Program &program, block::Program blocks,
                                         const Target &target, Profile profile, int threads,
                                         std::optional<Image> *image);
  // See engine.hpp.
  std::string (*llvm_text)(const loop::Program &program, const block::Program &blocks,
                           const Target &target);
  std::string (*asm_text)(const loop::Program &program, const block::Program &blocks,
                          const Target &target, const loop::Listing *listing);
  // "19.1.7", of the library that is loaded, and its name of this processor, "znver4".
  std::string (*version)();
  std::string (*processor)();
};

// Throws CompileError E0501 where it cannot be loaded, and, as the table's functions do, where the
// process ends. Thread-safe; what it has loaded stays.
const Backend &backend();

// Loads it and calls its `start`, on another thread: once in a process, and only where there is a
// second processor and a second thread is allowed. The caller counts as undivided, and so does the
// thread: a fork or the end of the process waits for it; nothing else does.
void start_backend(const Target &target, int threads);

} // namespace broadloom::jit
