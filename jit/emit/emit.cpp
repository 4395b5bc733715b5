// The module of a program: one function for each phase. See emit.hpp.
#include "jit/emit/emit.hpp"

#include "jit/emit/phase.hpp"

#include <llvm/IR/Module.h>

namespace broadloom::jit {

std::string phase_name(std::size_t phase) { return "phase_" + std::to_string(phase); }

std::unique_ptr<llvm::Module> emit(const loop::Program &program, const Target &target,
                                   llvm::LLVMContext &context) {
  auto module = std::make_unique<llvm::Module>("kernel", context);
  module->setTargetTriple("x86_64-unknown-linux-gnu");
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  auto *type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, pointer}, false);
  for (std::size_t k = 0; k < program.phases.size(); ++k) {
    auto *function =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, phase_name(k), module.get());
    const char *const names[] = {"frame", "lo", "hi"};
    for (unsigned a = 0; a < 3; ++a) function->getArg(a)->setName(names[a]);
    function->setDoesNotThrow();
    function->addFnAttr("target-cpu", "x86-64");
    function->addFnAttr("tune-cpu", target.cpu);
    function->addFnAttr("target-features", target.features);
    function->addFnAttr("prefer-vector-width", std::to_string(target.vector_bits));
    function->addFnAttr("min-legal-vector-width", std::to_string(target.vector_bits));
    function->addFnAttr("frame-pointer", "none");
    PhaseEmitter(program, k, target, function).run();
  }
  return module;
}

} // namespace broadloom::jit
