// See machine_passes.hpp; the order is that of llvm::TargetPassConfig::addISelPasses.
#include "jit/engine/machine_passes.hpp"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/Transforms/Scalar.h>

namespace broadloom::jit {
namespace {

// From IR to machine instructions. False where no instructions can be selected.
bool add_instruction_selection(llvm::LLVMTargetMachine &machine, llvm::TargetPassConfig &config,
                               llvm::legacy::PassManager &passes) {
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  passes.add(llvm::createPreISelIntrinsicLoweringPass()); // memset and its like
  // Masked loads, stores and gathers that AVX2 does not have.
  passes.add(llvm::createScalarizeMaskedMemIntrinLegacyPass());
  config.addCodeGenPrepare(); // addresses next to their use, for addressing modes
  config.addISelPrepare();
  if (config.addInstSelector()) return false;
  passes.add(llvm::Pass::createPass(&llvm::FinalizeISelID));
  passes.add(make_mask_widening());
  return true;
}

} // namespace

bool add_machine_passes(llvm::TargetMachine &machine, llvm::legacy::PassManager &passes,
                        llvm::raw_pwrite_stream &out, llvm::CodeGenFileType type) {
  auto &target = static_cast<llvm::LLVMTargetMachine &>(machine);
  auto *info =
      new llvm::MachineModuleInfoWrapperPass(&target); // the passes own what they are given
  llvm::TargetPassConfig *config = target.createPassConfig(passes);
  config->setDisableVerify(true);
  passes.add(config);
  passes.add(info);
  if (!add_instruction_selection(target, *config, passes)) return false;
  config->addMachinePasses();
  config->setInitialized();
  if (target.addAsmPrinter(passes, out, nullptr, type, info->getMMI().getContext())) return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  return true;
}

} // namespace broadloom::jit
