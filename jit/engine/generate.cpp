// The short pass pipeline and the code generator: see generate.hpp.
//
// The emitter writes vector code that is already in good order, so LLVM's IR passes have little to
// find: what they cost must come back. Inlined math brings its own constants and splats, which are
// worth to be merged and hoisted.
#include "jit/engine/generate.hpp"

#include "jit/emit/emit.hpp"
#include "jit/emit/whole.hpp"
#include "jit/engine/linker.hpp"
#include "jit/engine/machine_passes.hpp"
#include "support/end.hpp"
#include "support/fail.hpp"
#include "support/undivided.hpp"

#include <llvm/CodeGen/SelectionDAG.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PrintPasses.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <vector>

// Not what LLVM's headers call native: they may be those of the machine that builds.
#define BL_INITIALIZE(target)                                                                      \
  (LLVMInitialize##target##TargetInfo(), LLVMInitialize##target##Target(),                         \
   LLVMInitialize##target##TargetMC(), LLVMInitialize##target##AsmPrinter())

namespace broadloom::jit {
namespace {

// What the machine has for functions of the target: made when it is first asked for, in half a
// millisecond.
const llvm::TargetSubtargetInfo &subtarget(const llvm::TargetMachine &machine,
                                           const Target &target) {
  const Whole<llvm::LLVMContext> context;
  const Whole<llvm::Module> module("subtarget", *context);
  auto *function =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(*context), {}, false),
                             llvm::Function::ExternalLinkage, "subtarget", *module);
  set_attributes(*function, target);
  return *machine.getSubtargetImpl(*function);
}

std::unique_ptr<llvm::TargetMachine> make_machine(const Target &target) {
  const std::string triple(target.isa->triple);
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  std::unique_ptr<llvm::TargetMachine> machine;
  if (found != nullptr) {
    machine.reset(found->createTargetMachine(
        triple, target.isa->cpu, target.isa->features, llvm::TargetOptions(), llvm::Reloc::PIC_,
        llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  }
  if (!machine) {
    support::fail("E0501", "LLVM has no code generator for this machine: " + error, {},
                  "run with the interpreter (Engine::interpreter), which gives the same bits");
  }
  subtarget(*machine, target); // here, where another thread may make its own at the same time
  return machine;
}

// The end destroys what LLVM makes on first use before it comes to a handler that was there
// earlier. So most of that is made together here, and the end watched anew, before there is a
// compilation that needs it.
void make_tables(const llvm::TargetMachine &machine, const Target &target) {
  llvm::isPassInPrintList("");
  Whole<llvm::SelectionDAG>(machine, llvm::CodeGenOptLevel::Default)->getVTList(llvm::MVT::i1);
  subtarget(machine, target).getInstrInfo()->getOpcodeAfterMemoryUnfold(0, true, false);
  support::watch_end();
}

} // namespace

struct Generator::Machines {
  std::vector<std::unique_ptr<llvm::TargetMachine>> idle; // has room for those on loan
  std::size_t on_loan = 0;
};

namespace {

struct Pool { // never destroyed
  support::Mutex mutex;
  std::map<std::string, Generator::Machines> machines;
};
Pool &pool() {
  static Pool &made = *[] {
    // Where LLVM itself sees that memory ends it would end the process.
    llvm::install_bad_alloc_error_handler(
        [](void *, const char *, bool) { throw std::bad_alloc(); });
#if defined(__x86_64__)
    BL_INITIALIZE(X86);
#endif
    BL_INITIALIZE(AArch64);
    BL_INITIALIZE(NVPTX);
    return new Pool;
  }();
  return made;
}

Generator::Machines &machines_for(const Target &target) {
  const std::lock_guard lock(pool().mutex);
  return pool().machines[std::string(target.isa->name)];
}

} // namespace

Generator::Generator(const Target &target) : machines_(machines_for(target)) {
  {
    const std::lock_guard lock(pool().mutex);
    auto &idle = machines_.idle;
    idle.reserve(idle.size() + machines_.on_loan + 1);
    if (!idle.empty()) {
      machine_ = std::move(idle.back());
      idle.pop_back();
    }
    ++machines_.on_loan;
  }
  try {
    if (!machine_) machine_ = make_machine(target);
    static const bool has_tables = (make_tables(*machine_, target), true);
    (void)has_tables;
  } catch (...) {
    const std::lock_guard lock(pool().mutex);
    --machines_.on_loan;
    throw;
  }
}

// Allocates nothing.
Generator::~Generator() {
  const std::lock_guard lock(pool().mutex);
  --machines_.on_loan;
  if (std::uncaught_exceptions() > exceptions_)
    (void)machine_.release(); // half of what it has made may be there, see whole.hpp
  else
    machines_.idle.push_back(std::move(machine_));
}

void Generator::prepare(llvm::Module &module) const {
  module.setDataLayout(machine_->createDataLayout());
}

void Generator::optimise(llvm::Module &module, bool has_math) const {
  const Whole<llvm::PassBuilder> builder(machine_.get());
  const Whole<llvm::LoopAnalysisManager> loops;
  const Whole<llvm::FunctionAnalysisManager> functions;
  const Whole<llvm::CGSCCAnalysisManager> graphs;
  const Whole<llvm::ModuleAnalysisManager> modules;
  builder->registerModuleAnalyses(*modules);
  builder->registerCGSCCAnalyses(*graphs);
  builder->registerFunctionAnalyses(*functions);
  builder->registerLoopAnalyses(*loops);
  builder->crossRegisterProxies(*loops, *functions, *graphs, *modules);

  const Whole<llvm::ModulePassManager> passes;
  if (has_math) {
    passes->addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
    passes->addPass(llvm::GlobalDCEPass());
  }
  const Whole<llvm::FunctionPassManager> each;
  each->addPass(llvm::EarlyCSEPass());
  if (has_math) each->addPass(llvm::InstCombinePass());
  each->addPass(llvm::SimplifyCFGPass());
  // Accumulators are in registers: no loop has memory that is worth to be kept in one.
  constexpr unsigned clobber_walks = 100, accesses_for_promotion = 0;
  each->addPass(llvm::createFunctionToLoopPassAdaptor(
      llvm::LICMPass(clobber_walks, accesses_for_promotion, /*AllowSpeculation=*/true),
      /*UseMemorySSA=*/true));
  passes->run(module, *modules);
  // What the math calls for rare arguments is optimised bitcode already.
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && !function.hasFnAttribute(llvm::Attribute::Cold))
      each->run(function, *functions);
}

llvm::SmallVector<char, 0> Generator::generate(llvm::Module &module,
                                               llvm::CodeGenFileType type) const {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  const Whole<llvm::legacy::PassManager> passes;
  if (!add_machine_passes(*machine_, *passes, out, type)) {
    support::fail("E0501", "LLVM cannot write code of this kind", {},
                  "run with the interpreter (Engine::interpreter), which gives the same bits");
  }
  passes->run(module);
  return bytes;
}

} // namespace broadloom::jit
