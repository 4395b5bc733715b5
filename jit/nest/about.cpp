// See about.hpp.
#include "jit/nest/about.hpp"

#include "jit/native/backend.hpp"
#include "jit/native/processor.hpp"
#include "jit/runtime/machine.hpp"

#include <broadloom/error.hpp>

#include <oneapi/tbb/version.h>

namespace broadloom::jit {
namespace {

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
  try {
    result.llvm = backend().version();
    result.cpu = backend().processor();
  } catch (const CompileError &error) {
    result.llvm = "(" + error.message() + ")";
    result.cpu = name_of_processor();
  }
  result.onetbb = TBB_runtime_version();
  result.compiler = compiler();
  result.threads = runtime::default_threads();
  try {
    const Target target = find_target("");
    result.level = target.isa->name;
    result.vector_bits = target.vector_bits();
    result.features = target.isa->features;
    std::erase(result.features, '+'); // LLVM's sign for "on"
  } catch (const CompileError &error) {
    result.no_native = error.message();
  }
  return result;
}

} // namespace broadloom::jit
