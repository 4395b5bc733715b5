// See about.hpp.
#include "jit/about.hpp"

#include "jit/engine/target.hpp"
#include "jit/runtime/machine.hpp"

#include <broadloom/error.hpp>

#include <fmt/format.h>
#include <llvm-c/Core.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/TargetParser/Host.h>
#include <oneapi/tbb/version.h>

#include <algorithm>

namespace broadloom::jit {
namespace {

std::string llvm_version() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

std::string compiler() {
#ifdef __clang__
  return "clang " __VERSION__;
#else
  return "g++ " __VERSION__;
#endif
}

} // namespace

About about() {
  About result;
  result.llvm = llvm_version();
  result.onetbb = TBB_runtime_version();
  result.compiler = compiler();
  result.cpu = llvm::sys::getHostCPUName().str();
  result.threads = runtime::default_threads();
  try {
    const Target target = find_target("");
    result.level = target.avx512() ? "x86-64-v4" : "x86-64-v3";
    result.vector_bits = target.vector_bits;
    result.features = target.features;
    std::erase(result.features, '+'); // LLVM's sign for "on"
  } catch (const CompileError &error) {
    result.no_native = error.message();
  }
  return result;
}

} // namespace broadloom::jit
