// The linker: object files -> code in memory.
//
// It lives as long as the process and is never destroyed: code may still run while static objects
// are torn down. Each program gets a symbol table of its own, so that names never meet and removing
// it gives back all that it held. Memory is written first and made executable after; it is never
// both.
#pragma once

#include "jit/engine/capture.hpp"
#include "jit/native/code.hpp"
#include "support/undivided.hpp"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace broadloom::jit {

class Linker { // thread-safe
public:
  static Linker &instance();

  // All of these as one library. Throws CompileError E0501.
  enum class Keep : std::uint8_t { Nothing, Image };
  llvm::orc::JITDylib &add(std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects,
                           Keep keep = Keep::Nothing);
  void remove(llvm::orc::JITDylib &library);

  // Where these functions lie. Throws CompileError E0501.
  std::vector<llvm::orc::ExecutorAddr> find(llvm::orc::JITDylib &library,
                                            llvm::ArrayRef<std::string> names);

  // Of a library that was found and is kept, once: see Capture::end.
  std::optional<Image> image(const llvm::orc::JITDylib &library,
                             const std::vector<std::string> &phases) {
    return capture_->end(library, phases);
  }

private:
  Linker();

  llvm::orc::ExecutionSession session_;
  llvm::orc::ObjectLinkingLayer linker_;
  std::shared_ptr<Capture> capture_;
  llvm::orc::JITDylib &libm_;
  std::atomic<std::uint64_t> next_{0};
  support::Mutex mutex_;
  std::string last_error_;
};

// The value, or fail_native.
template <class T> T take(llvm::Expected<T> value) {
  if (!value) fail_native(llvm::toString(value.takeError()));
  return std::move(*value);
}

} // namespace broadloom::jit
