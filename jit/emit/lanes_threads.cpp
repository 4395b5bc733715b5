// Lanes that are threads of a GPU's warp.
//
// Problem: a vector of 32 lanes is one value in each of 32 threads, which run the same code
// together; what a core does by a shuffle of a register must go from thread to thread, with no
// thread ahead of the others.
// Method: four functions are called by name, and whoever makes machine code gives their bodies: the
// number of the thread in its warp, 32 bits of another thread's value, a place where all meet, and
// for a processor that plays a warp the same by fibres (jit/native/warp.hpp). Whatever is known for
// a whole loop is computed by all of them alike.
// Example: the ways of a fold, joined by halving: x = join(x, of_thread(x, thread() + 16)), then +
// 8, + 4, + 2, + 1.
#include "jit/emit/lanes.hpp"

#include "jit/emit/warp.hpp"
#include "support/check.hpp"

#include <llvm/IR/Module.h>

namespace broadloom::jit {

namespace {

llvm::CallInst *call_warp(Builder &ir, const char *name, llvm::Type *result,
                          llvm::ArrayRef<llvm::Value *> args) {
  std::vector<llvm::Type *> types;
  for (llvm::Value *arg : args) types.push_back(arg->getType());
  llvm::FunctionCallee callee = ir.GetInsertBlock()->getModule()->getOrInsertFunction(
      name, llvm::FunctionType::get(result, types, false));
  auto *function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  llvm::CallInst *made = ir.CreateCall(callee, args);
  if (args.empty() && !result->isVoidTy()) // the same number wherever it is asked for
    function->setDoesNotAccessMemory();
  else
    made->setConvergent();
  return made;
}

} // namespace

// One call in a function, so that all of it knows that it is the same number.
static llvm::Value *ask_once(Builder &ir, const char *name, llvm::Type *result) {
  llvm::BasicBlock &entry = ir.GetInsertBlock()->getParent()->getEntryBlock();
  for (llvm::Instruction &instruction : entry)
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        call != nullptr && call->getCalledFunction() != nullptr &&
        call->getCalledFunction()->getName() == name)
      return call;
  Builder first(&entry, entry.begin());
  return call_warp(first, name, result, {});
}

llvm::Value *Lanes::thread() { return ask_once(ir_, warp_thread, ir_.getInt32Ty()); }
llvm::Value *Lanes::warp() { return ask_once(ir_, warp_number, ir_.getInt64Ty()); }

llvm::Value *Lanes::counts(llvm::Value *active) {
  return ir_.CreateICmpSLT(thread(), ir_.CreateTrunc(active, ir_.getInt32Ty()));
}

llvm::Value *Lanes::of_thread(llvm::Value *value, llvm::Value *number) {
  return each_part({value}, [&](llvm::ArrayRef<llvm::Value *> parts) -> llvm::Value * {
    llvm::Type *type = parts[0]->getType(), *word = ir_.getInt32Ty();
    const unsigned size = type->getPrimitiveSizeInBits();
    llvm::Value *bits = ir_.CreateBitCast(parts[0], ir_.getIntNTy(size));
    const auto other = [&](llvm::Value *one) {
      return call_warp(ir_, warp_shuffle, word, {one, number});
    };
    llvm::Value *taken = nullptr;
    if (size <= 32) {
      taken = ir_.CreateTrunc(other(ir_.CreateZExt(bits, word)), bits->getType());
    } else {
      support::check(size == 64, "a value of neither one nor two words goes to another thread");
      llvm::Value *low = other(ir_.CreateTrunc(bits, word));
      llvm::Value *high = other(ir_.CreateTrunc(ir_.CreateLShr(bits, 32), word));
      llvm::Value *upper = ir_.CreateShl(ir_.CreateZExt(high, bits->getType()), 32);
      taken = ir_.CreateOr(ir_.CreateZExt(low, bits->getType()), upper);
    }
    return ir_.CreateBitCast(taken, type);
  });
}

// Where a lane's source is known: four bits for each of at most 16 lanes, as one number; the upper
// half of a warp does the same among its own. Of sources beyond the lanes, the second value's.
llvm::Value *Lanes::shuffle_threads(llvm::Value *a, llvm::Value *b, llvm::ArrayRef<int> sources) {
  const int lanes = static_cast<int>(sources.size());
  support::check(lanes <= 16, "a shuffle of more threads than a number has places for");
  std::uint64_t places = 0;
  std::uint32_t seconds = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    const int source = sources[std::size_t(lane)];
    places |= std::uint64_t(source % lanes) << 4 * lane;
    seconds |= std::uint32_t(source >= lanes) << lane;
  }
  llvm::Value *own = ir_.CreateAnd(thread(), ir_.getInt32(15));
  llvm::Value *shift = ir_.CreateZExt(ir_.CreateShl(own, 2), ir_.getInt64Ty());
  llvm::Value *source = ir_.CreateAnd(
      ir_.CreateTrunc(ir_.CreateLShr(ir_.getInt64(places), shift), ir_.getInt32Ty()), 15);
  source = ir_.CreateOr(source, ir_.CreateAnd(thread(), ir_.getInt32(16)));
  llvm::Value *first = of_thread(a, source);
  if (seconds == 0) return first;
  llvm::Value *other = ir_.CreateTrunc(ir_.CreateLShr(ir_.getInt32(seconds), own), ir_.getInt1Ty());
  return select(other, of_thread(b, source), first);
}

void Lanes::meet() { call_warp(ir_, warp_meet, ir_.getVoidTy(), {}); }

llvm::Value *Lanes::shared(std::size_t bytes) {
  return call_warp(ir_, warp_shared, ir_.getPtrTy(), {ir_.getInt64(bytes)});
}

// Whoever has read the place before has done so, and whoever reads it next finds the value.
void Lanes::store_once(llvm::function_ref<void()> store) {
  meet();
  either(
      ir_.CreateICmpEQ(thread(), ir_.getInt32(0)),
      [&] {
        store();
        return Carried{};
      },
      [] { return Carried{}; });
  meet();
}

} // namespace broadloom::jit
