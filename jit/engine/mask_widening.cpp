// Masks of AVX-512 that are widened with zeros keep their zeros.
//
// Problem: a masked store of 8 bytes is one of 16 lanes whose mask is the one of 8 lanes with zeros
// above. LLVM 19 widens it by `kmovb`, which its register allocator takes for a plain copy: where
// the widened mask has to wait on the stack, say while a function is called, the narrow one waits
// in its place, with whatever bits are above, and bytes behind the last lane are written.
// Method: right after instructions are selected, each such move becomes a pair of shifts, which
// nothing takes for a copy.
// Example: kmovb %k1, %k2   ->   kshiftlw $8, %k1, %k3;  kshiftrw $8, %k3, %k2
#include "jit/engine/machine_passes.hpp"

#include "support/check.hpp"

#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

#include <array>

namespace broadloom::jit {
namespace {

struct Widening { // opcodes
  unsigned move, left, right;
  int bits; // that are shifted out
};

// LLVM's headers do not tell the numbers of the target's instructions, but their names do.
std::array<Widening, 3> find_widenings(const llvm::TargetInstrInfo &instructions) {
  const auto number = [&](llvm::StringRef name) {
    unsigned opcode = 0;
    while (opcode < instructions.getNumOpcodes() && instructions.getName(opcode) != name) ++opcode;
    support::check(opcode < instructions.getNumOpcodes(), "an instruction has another name");
    return opcode;
  };
  return {{{number("KMOVBkk"), number("KSHIFTLWri"), number("KSHIFTRWri"), 8},
           {number("KMOVWkk"), number("KSHIFTLDri"), number("KSHIFTRDri"), 16},
           {number("KMOVDkk"), number("KSHIFTLQri"), number("KSHIFTRQri"), 32}}};
}

class MaskWidening : public llvm::MachineFunctionPass {
public:
  static char ID;
  MaskWidening() : MachineFunctionPass(ID) {}

  llvm::StringRef getPassName() const override { return "widen masks by shifts"; }

  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    const llvm::TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    static const std::array<Widening, 3> widenings = find_widenings(instructions);
    bool changed = false;
    for (llvm::MachineBasicBlock &block : function)
      for (llvm::MachineInstr &move : llvm::make_early_inc_range(block))
        for (const Widening &widening : widenings) {
          if (move.getOpcode() != widening.move) continue;
          const llvm::MCInstrDesc &left = instructions.get(widening.left);
          const llvm::Register above = function.getRegInfo().createVirtualRegister(
              function.getSubtarget().getRegisterInfo()->getRegClass(left.operands()[0].RegClass));
          llvm::BuildMI(block, move, move.getDebugLoc(), left, above)
              .addReg(move.getOperand(1).getReg())
              .addImm(widening.bits);
          llvm::BuildMI(block, move, move.getDebugLoc(), instructions.get(widening.right),
                        move.getOperand(0).getReg())
              .addReg(above, llvm::RegState::Kill)
              .addImm(widening.bits);
          move.eraseFromParent();
          changed = true;
          break;
        }
    return changed;
  }
};
char MaskWidening::ID = 0;

} // namespace

llvm::FunctionPass *make_mask_widening() { return new MaskWidening; }

} // namespace broadloom::jit
