// See start.hpp.
#include "jit/engine/start.hpp"

#include "jit/emit/emit.hpp"
#include "jit/emit/whole.hpp"
#include "jit/engine/generate.hpp"
#include "jit/engine/linker.hpp"
#include "jit/engine/object.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>

#include "support/end.hpp"

#include <broadloom/error.hpp>

#include <exception>

namespace broadloom::jit {
namespace {

constexpr const char *function_name = "loop";

// void loop(float *x, i64 n) { for (i64 k = 0; k < n; k += lanes) x[k .. k + lanes] += 1, under a
// mask }
void make_loop(llvm::Module &module, const Target &target) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> ir(context);
  const auto lanes = unsigned(target.vector_bits() / 32);
  auto *vector = llvm::FixedVectorType::get(ir.getFloatTy(), lanes);
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(ir.getVoidTy(), {ir.getPtrTy(), ir.getInt64Ty()}, false),
      llvm::Function::ExternalLinkage, function_name, module);
  set_attributes(*function, target);
  auto *entry = llvm::BasicBlock::Create(context, "", function);
  auto *turn = llvm::BasicBlock::Create(context, "", function);
  auto *after = llvm::BasicBlock::Create(context, "", function);
  ir.SetInsertPoint(entry);
  ir.CreateBr(turn);
  ir.SetInsertPoint(turn);
  llvm::PHINode *k = ir.CreatePHI(ir.getInt64Ty(), 2);
  llvm::Value *at = ir.CreateGEP(ir.getFloatTy(), function->getArg(0), k);
  llvm::Value *left = ir.CreateSub(function->getArg(1), k);
  std::vector<llvm::Constant *> numbers;
  for (unsigned lane = 0; lane < lanes; ++lane) numbers.push_back(ir.getInt32(lane));
  llvm::Value *mask =
      ir.CreateICmpULT(llvm::ConstantVector::get(numbers),
                       ir.CreateVectorSplat(lanes, ir.CreateTrunc(left, ir.getInt32Ty())));
  llvm::Value *x =
      ir.CreateMaskedLoad(vector, at, llvm::Align(4), mask, llvm::Constant::getNullValue(vector));
  x = ir.CreateFMul(ir.CreateFAdd(x, llvm::ConstantFP::get(vector, 1)), x);
  ir.CreateMaskedStore(x, at, llvm::Align(4), mask);
  llvm::Value *next = ir.CreateAdd(k, ir.getInt64(lanes));
  k->addIncoming(ir.getInt64(0), entry);
  k->addIncoming(next, turn);
  ir.CreateCondBr(ir.CreateICmpSLT(next, function->getArg(1)), turn, after);
  ir.SetInsertPoint(after);
  ir.CreateRetVoid();
}

llvm::SmallVector<char, 0> generated(const Generator &generator, const Target &target,
                                     bool optimised) {
  const Whole<llvm::LLVMContext> context;
  const Whole<llvm::Module> module("start", *context);
  module->setTargetTriple(target.isa->triple);
  make_loop(*module, target);
  generator.prepare(*module);
  if (optimised) {
    generator.optimise(*module, true);
    return {};
  }
  return generator.generate(*module, llvm::CodeGenFileType::ObjectFile);
}

} // namespace

// The code generator comes first here: in a compilation it comes last, and takes most of it.
void start_llvm(const Target &target) {
  if (!has_memory_for(0)) return;
  try {
    const Generator generator(target);
    const auto file = generated(generator, target, false);
    Linker &linker = Linker::instance();
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> files;
    files.push_back(
        llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(file.data(), file.size()), "start"));
    llvm::orc::JITDylib &library = linker.add(std::move(files));
    linker.find(library, {std::string(function_name)});
    linker.remove(library);
    generated(generator, target, true);
    support::watch_end();
  } catch (const std::exception &) { // whoever compiles finds out
  }
}

} // namespace broadloom::jit
