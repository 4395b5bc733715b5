// See machine_passes.hpp; the order is that of llvm::TargetPassConfig::addISelPasses.
#include "jit/engine/machine_passes.hpp"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Transforms/Scalar.h>

#include <algorithm>
#include <string_view>

namespace broadloom::jit {
namespace {

// LLVM's passes over machine code that no kernel needs. Without them the code of twelve kernels,
// ten of them of the benchmark, is the same to the byte; each costs a few us where its code is in
// memory, and its pages where it is not.
constexpr std::string_view unneeded[] = {
    // languages, systems and settings that are not ours: exceptions, debuggers, collectors,
    // tracers, sanitizers, Windows, thread-local storage
    "Prepare callbr",
    "Safe Stack instrumentation pass",
    "Local Dynamic TLS Access Clean-up",
    "X86 Windows Fixup Buffer Security Check",
    "Fixup Statepoint Caller Saved",
    "Remove Redundant DEBUG_VALUE analysis",
    "Live DEBUG_VALUE analysis",
    "Analyze Machine Code For Garbage Collection",
    "Insert fentry calls",
    "Insert XRay ops",
    "Implement the 'patchable-function' attribute",
    "Insert KCFI indirect call checks",
    "Contiguously Lay Out Funclets",
    "StackMap Liveness Analysis",
    "Machine Sanitizer Binary Metadata",
    "Stack Frame Layout Analysis",
    "Pseudo Probe Inserter",
    "Register Allocation Pass Scoring",
    // guards against processors that guess, for secrets that kernels do not have
    "X86 speculative load hardening",
    "X86 Load Value Injection (LVI) Load Hardening",
    "X86 Load Value Injection (LVI) Ret-Hardening",
    "X86 Indirect Branch Tracking",
    "X86 Speculative Execution Side Effect Suppression",
    "X86 Indirect Thunks",
    "X86 Return Thunks",
    // registers and instructions that no kernel has: x87, AMX, 32 bits, parts of registers
    "X86 FP Stackifier",
    "X86 insert wait instruction",
    "Tile Register Pre-configure",
    "Tile Register Configure",
    "X86 Lower Tile Copy",
    "X86 PIC Global Base Reg Initialization",
    "X86 Optimize Call Frame",
    "Argument Stack Rebase",
    "Detect Dead Lanes",
    "Rename Disconnected Subregister Components",
    "X86 Atom pad short functions",
    "Unpack machine instruction bundles",
    // nothing to find: copies of structures, lifetimes on the stack, profiles of cache misses,
    // integers that could be masks
    "X86 Avoid Store Forwarding Blocks",
    "Merge disjoint stack slots",
    "X86 Discriminate Memory Operands",
    "X86 Insert Cache Prefetches",
    "X86 Domain Reassignment Pass",
    "Optimize machine instruction PHIs",
    "X86 LEA Optimize",
    "Post RA top-down list latency scheduler",
};

// Takes LLVM's list of passes and hands on those that are needed.
class Sieve : public llvm::legacy::PassManagerBase {
public:
  Sieve(llvm::legacy::PassManager &passes, bool drops) : passes_(passes), drops_(drops) {}

  void add(llvm::Pass *pass) override {
    const llvm::StringRef name = pass->getPassName();
    if (drops_ && std::ranges::find(unneeded, std::string_view(name.data(), name.size())) !=
                      std::end(unneeded))
      delete pass;
    else
      passes_.add(pass);
  }

private:
  llvm::legacy::PassManager &passes_;
  const bool drops_;
};

// From IR to machine instructions. False where no instructions can be selected.
bool add_instruction_selection(llvm::LLVMTargetMachine &machine, llvm::TargetPassConfig &config,
                               llvm::legacy::PassManagerBase &passes) {
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  passes.add(llvm::createPreISelIntrinsicLoweringPass()); // memset and its like
  // Masked loads, stores and gathers that AVX2 does not have.
  passes.add(llvm::createScalarizeMaskedMemIntrinLegacyPass());
  // What counts paths, of which x86-64 has instructions.
  if (!machine.getTargetTriple().isX86()) passes.add(llvm::createAtomicExpandLegacyPass());
  config.addCodeGenPrepare(); // addresses next to their use, for addressing modes
  config.addISelPrepare();
  if (config.addInstSelector()) return false;
  passes.add(llvm::Pass::createPass(&llvm::FinalizeISelID));
  if (machine.getTargetTriple().isX86()) passes.add(make_mask_widening());
  return true;
}

} // namespace

bool add_machine_passes(llvm::TargetMachine &machine, llvm::legacy::PassManager &all,
                        llvm::raw_pwrite_stream &out, llvm::CodeGenFileType type) {
  auto &target = static_cast<llvm::LLVMTargetMachine &>(machine);
  if (target.getTargetTriple().isNVPTX()) // has no registers to be given out
    return !target.addPassesToEmitFile(all, out, nullptr, type);
  static_assert(LLVM_VERSION_MAJOR == 19);             // whose names these are
  Sieve passes(all, target.getTargetTriple().isX86()); // not tried for others
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
