// How the threads of a warp come into a phase: see warp.hpp.
#include "jit/emit/warp.hpp"

#include "jit/emit/lanes.hpp"
#include "jit/native/backend.hpp"
#include "jit/runtime/launch.hpp"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

namespace broadloom::jit {

namespace {

llvm::Value *special(Builder &ir, llvm::Intrinsic::ID id) {
  return ir.CreateZExt(ir.CreateIntrinsic(id, {}, {}), ir.getInt64Ty());
}

llvm::Value *warp_of_device(Builder &ir) {
  llvm::Value *threads = special(ir, llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  llvm::Value *before =
      ir.CreateMul(special(ir, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x), threads);
  return ir.CreateUDiv(ir.CreateAdd(before, special(ir, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x)),
                       ir.getInt64(runtime::warp_threads));
}

llvm::Value *warps_of_device(Builder &ir) {
  return ir.CreateUDiv(ir.CreateMul(special(ir, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x),
                                    special(ir, llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x)),
                       ir.getInt64(runtime::warp_threads));
}

// A processor plays the warp: phase_k(frame, lo, hi) runs the phase in all of its threads.
void enter_played(llvm::Module &module, llvm::Function &phase, const std::string &name) {
  Builder ir(module.getContext());
  llvm::Type *pointer = ir.getPtrTy();
  auto *entry = llvm::Function::Create(phase.getFunctionType(), llvm::Function::ExternalLinkage,
                                       name, module);
  entry->copyAttributesFrom(&phase);
  entry->setLinkage(llvm::Function::ExternalLinkage);
  ir.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", entry));
  const auto run = module.getOrInsertFunction(
      warp_run,
      llvm::FunctionType::get(ir.getVoidTy(), {pointer, pointer, pointer, pointer}, false));
  ir.CreateCall(run, {&phase, entry->getArg(0), entry->getArg(1), entry->getArg(2)});
  ir.CreateRetVoid();
}

// The kernel of a device: each warp takes every so many-th box of the phase's parallel axes.
//
//   for (box = warp; box < boxes; box += warps)
//     for each parallel axis, the innermost first: place = box' % count, box' /= count
//       lo = place * grain, hi = min(lo + grain, positions)
//     phase(tables, lo, hi)
class DeviceEntry {
public:
  DeviceEntry(llvm::Module &module, const loop::Program &program, std::size_t number,
              llvm::Function &phase)
      : module_(module), program_(program), number_(number),
        parallel_(program.phases[number].parallel), phase_(phase), ir_(module.getContext()) {}

  void make() {
    const runtime::LaunchLayout layout(program_, number_);
    auto *block = llvm::ArrayType::get(ir_.getInt64Ty(), layout.words);
    auto *type = llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy()}, false);
    auto *entry =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, phase_name(number_), module_);
    entry->setCallingConv(llvm::CallingConv::PTX_Kernel);
    if (layout.is_parameter())
      entry->addParamAttr(0, llvm::Attribute::getWithByValType(module_.getContext(), block));
    entry->addParamAttr(0, llvm::Attribute::getWithAlignment(module_.getContext(), llvm::Align(8)));
    entry->addFnAttr("target-cpu", phase_.getFnAttribute("target-cpu").getValueAsString());
    phase_.removeFnAttr(llvm::Attribute::NoInline);
    phase_.addFnAttr(llvm::Attribute::AlwaysInline);
    ir_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", entry));
    llvm::Value *words = entry->getArg(0);
    const auto word = [&](std::size_t index) {
      return ir_.CreateAlignedLoad(
          ir_.getInt64Ty(), ir_.CreateConstGEP1_64(ir_.getInt64Ty(), words, index), llvm::Align(8));
    };
    auto *places =
        llvm::ArrayType::get(ir_.getInt64Ty(), std::max<std::size_t>(1, parallel_.size()));
    llvm::Value *lo = ir_.CreateAlloca(places), *hi = ir_.CreateAlloca(places);
    llvm::Value *first = warp_of_device(ir_), *warps = warps_of_device(ir_);
    llvm::Value *boxes = word(layout.boxes);
    auto *head = block_of(entry, "boxes"), *turn = block_of(entry, "box"),
         *done = block_of(entry, "done");
    llvm::BasicBlock *before = ir_.GetInsertBlock();
    ir_.CreateBr(head);
    ir_.SetInsertPoint(head);
    llvm::PHINode *box = ir_.CreatePHI(ir_.getInt64Ty(), 2);
    box->addIncoming(first, before);
    ir_.CreateCondBr(ir_.CreateICmpULT(box, boxes), turn, done);
    ir_.SetInsertPoint(turn);
    llvm::Value *left = box;
    for (std::size_t k = parallel_.size(); k-- > 0;) {
      llvm::Value *count = word(layout.counts + k), *grain = word(layout.grains + k);
      llvm::Value *place = k == 0 ? left : ir_.CreateURem(left, count);
      if (k > 0) left = ir_.CreateUDiv(left, count);
      llvm::Value *from = ir_.CreateMul(place, grain);
      llvm::Value *to = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateAdd(from, grain),
                                                  word(layout.extents + parallel_[k].index));
      ir_.CreateStore(from, ir_.CreateConstGEP1_64(ir_.getInt64Ty(), lo, k));
      ir_.CreateStore(to, ir_.CreateConstGEP1_64(ir_.getInt64Ty(), hi, k));
    }
    ir_.CreateCall(&phase_, {words, lo, hi});
    box->addIncoming(ir_.CreateAdd(box, warps), ir_.GetInsertBlock());
    ir_.CreateBr(head);
    ir_.SetInsertPoint(done);
    ir_.CreateRetVoid();
  }

private:
  llvm::BasicBlock *block_of(llvm::Function *function, const char *name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, function);
  }
  llvm::Module &module_;
  const loop::Program &program_;
  const std::size_t number_;
  const std::vector<loop::AxisId> &parallel_;
  llvm::Function &phase_;
  Builder ir_;
};

// The memory of all warps of a group: so much for each as any of the module asks for.
llvm::Value *shared_of_device(Builder &ir, llvm::Function &function) {
  std::uint64_t bytes = 0;
  for (const llvm::User *user : function.users())
    bytes = std::max(
        bytes, llvm::cast<llvm::ConstantInt>(llvm::cast<llvm::CallInst>(user)->getArgOperand(0))
                   ->getZExtValue());
  constexpr unsigned shared_memory = 3; // NVPTX's name of it
  auto *type = llvm::ArrayType::get(ir.getInt8Ty(), bytes * runtime::warps_of_group);
  auto *all = new llvm::GlobalVariable(*function.getParent(), type, false,
                                       llvm::GlobalValue::InternalLinkage,
                                       llvm::UndefValue::get(type), "bl_shared", nullptr,
                                       llvm::GlobalValue::NotThreadLocal, shared_memory);
  all->setAlignment(llvm::Align(16));
  llvm::Value *warp = ir.CreateUDiv(special(ir, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x),
                                    ir.getInt64(runtime::warp_threads));
  return ir.CreateGEP(ir.getInt8Ty(), ir.CreateAddrSpaceCast(all, ir.getPtrTy()),
                      ir.CreateMul(warp, ir.getInt64(bytes)));
}

// Gives a function that is called by this name its body.
void define(llvm::Module &module, const char *name,
            llvm::function_ref<llvm::Value *(Builder &, llvm::Function &)> body) {
  llvm::Function *function = module.getFunction(name);
  if (function == nullptr) return;
  function->setLinkage(llvm::Function::InternalLinkage);
  function->addFnAttr(llvm::Attribute::AlwaysInline);
  function->setConvergent();
  Builder ir(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  llvm::Value *result = body(ir, *function);
  if (result == nullptr)
    ir.CreateRetVoid();
  else
    ir.CreateRet(result);
}

} // namespace

void enter_warp(llvm::Module &module, const loop::Program &program, std::size_t number,
                llvm::Function &phase, const Target &target) {
  if (target.isa->device)
    DeviceEntry(module, program, number, phase).make();
  else
    enter_played(module, phase, phase_name(number));
}

void define_warp(llvm::Module &module) {
  define(module, warp_thread, [](Builder &ir, llvm::Function &) {
    return ir.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_laneid, {}, {});
  });
  define(module, warp_number, [](Builder &ir, llvm::Function &) { return warp_of_device(ir); });
  define(module, warp_shared, shared_of_device);
  define(module, warp_shuffle, [](Builder &ir, llvm::Function &function) {
    return ir.CreateIntrinsic(
        llvm::Intrinsic::nvvm_shfl_sync_idx_i32, {},
        {ir.getInt32(~0u), function.getArg(0), function.getArg(1), ir.getInt32(31)});
  });
  define(module, warp_meet, [](Builder &ir, llvm::Function &) -> llvm::Value * {
    ir.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {ir.getInt32(~0u)});
    return nullptr;
  });
}

} // namespace broadloom::jit
