// The table of what needs LLVM: see jit/native/backend.hpp.
#include "jit/engine/backend.hpp"

#include "jit/engine/engine.hpp"
#include "jit/engine/object.hpp"
#include "jit/engine/start.hpp"

#include <llvm-c/Core.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/TargetParser/Host.h>

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

} // namespace
} // namespace broadloom::jit

const broadloom::jit::Backend broadloom_backend = {
    broadloom::jit::start_llvm, broadloom::jit::compile, broadloom::jit::llvm_text,
    broadloom::jit::asm_text,   broadloom::jit::version, broadloom::jit::processor};
