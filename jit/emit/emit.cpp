// The module of a program: one function for each phase. See emit.hpp.
#include "jit/emit/emit.hpp"

#include "jit/emit/phase.hpp"
#include "jit/emit/warp.hpp"
#include "jit/native/processor.hpp"
#include "jit/native/profile.hpp"
#include "support/check.hpp"

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Host.h>

#include <optional>

namespace broadloom::jit {

namespace {

// Makes functions carry line numbers, which only the assembly printer reads: no debug sections come
// of it.
class Lines {
public:
  explicit Lines(llvm::Module &module) : build_(module) {
    module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    file_ = build_.createFile("program", "");
    build_.createCompileUnit(llvm::dwarf::DW_LANG_C, file_, "broadloom", true, "", 0, "",
                             llvm::DICompileUnit::DebugDirectivesOnly);
  }
  void attach(llvm::Function &function) {
    auto *type = build_.createSubroutineType(build_.getOrCreateTypeArray({}));
    function.setSubprogram(build_.createFunction(file_, function.getName(), function.getName(),
                                                 file_, 1, type, 1, llvm::DINode::FlagZero,
                                                 llvm::DISubprogram::SPFlagDefinition));
  }
  // The same lines in a function that was a part of `function`.
  void move(llvm::Function &part) {
    attach(part);
    for (llvm::BasicBlock &block : part)
      for (llvm::Instruction &instruction : block)
        if (const llvm::DebugLoc &line = instruction.getDebugLoc())
          instruction.setDebugLoc(llvm::DILocation::get(part.getContext(), line.getLine(),
                                                        line.getCol(), part.getSubprogram()));
  }
  void finish() { build_.finalize(); }

private:
  llvm::DIBuilder build_;
  llvm::DIFile *file_ = nullptr;
};

} // namespace

void set_attributes(llvm::Function &function, const Target &target) {
  static const llvm::StringRef host = llvm::sys::getHostCPUName(); // asks the processor
  function.setDoesNotThrow();
  function.addFnAttr("target-cpu", target.isa->cpu);
  if (target.isa->elf == elf_machine) // else it runs elsewhere
    function.addFnAttr("tune-cpu", host);
  function.addFnAttr("target-features", target.isa->features);
  function.addFnAttr("prefer-vector-width", std::to_string(target.vector_bits()));
  function.addFnAttr("min-legal-vector-width", std::to_string(target.vector_bits()));
  function.addFnAttr("frame-pointer", "none");
}

void emit(llvm::Module &module, const loop::Program &program, const block::Program &blocks,
          const Target &target, std::span<const std::size_t> phases, const loop::Listing *listing,
          bool count_paths) {
  const bool threads = target.isa->core.warp > 0;
  support::check(threads == (blocks.machine.warp > 0), "blocks of another kind of machine");
  llvm::LLVMContext &context = module.getContext();
  module.setTargetTriple(target.isa->triple);
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  auto *type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, pointer}, false);
  std::optional<Lines> lines;
  if (listing != nullptr) lines.emplace(module);
  for (const std::size_t k : phases) {
    auto *function = llvm::Function::Create(
        type, threads ? llvm::Function::InternalLinkage : llvm::Function::ExternalLinkage,
        phase_name(k) + (threads ? "_thread" : ""), module);
    const char *const names[] = {"frame", "lo", "hi"};
    for (unsigned a = 0; a < 3; ++a) function->getArg(a)->setName(names[a]);
    set_attributes(*function, target);
    if (threads) function->setConvergent();
    if (lines) lines->attach(*function);
    PhaseEmitter(program, k, target, blocks, function, listing, count_paths)
        .run([&](llvm::Function &part) {
          if (lines) lines->move(part);
        });
    if (threads) enter_warp(module, program, k, *function, target);
  }
  if (target.isa->device) define_warp(module);
  if (lines) lines->finish();
}

} // namespace broadloom::jit
