// The table of what needs LLVM: see jit/native/backend.hpp.
#include "jit/engine/backend.hpp"

#include "jit/engine/engine.hpp"
#include "jit/engine/object.hpp"
#include "jit/engine/start.hpp"
#include "support/end.hpp"

#include <llvm-c/Core.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/TargetParser/Host.h>

#include <utility>

namespace broadloom::jit {
namespace {

std::shared_ptr<const Code> compile(const loop::Program &program, block::Program blocks,
                                    const Target &target, Profile profile, int threads,
                                    std::optional<Image> *image) {
  return link(generate(program, std::move(blocks), target, profile, threads), image);
}

std::string version() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

std::string processor() { return llvm::sys::getHostCPUName().str(); }

// The only way into LLVM, which is closed as the process ends.
template <auto function> struct Entry;
template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct Entry<function> {
  static Result call(Arguments... arguments) {
    const support::BeforeEnd here;
    if (!here) fail_native("the process ends");
    return function(std::forward<Arguments>(arguments)...);
  }
};

} // namespace
} // namespace broadloom::jit

const broadloom::jit::Backend broadloom_backend = {
    broadloom::jit::Entry<broadloom::jit::start_llvm>::call,
    broadloom::jit::Entry<broadloom::jit::compile>::call,
    broadloom::jit::Entry<broadloom::jit::llvm_text>::call,
    broadloom::jit::Entry<broadloom::jit::asm_text>::call,
    broadloom::jit::Entry<broadloom::jit::version>::call,
    broadloom::jit::Entry<broadloom::jit::processor>::call};
