// Brings our vector math into a module: see link_math in emit.hpp.
//
// Each function that is called has a module of its own, so that nothing else is read. They
// were compiled for an instruction set as a whole; here they take over the target of the kernel,
// since a function is inlined only into one that has all of its features.
#include "jit/emit/emit.hpp"

#include "jit/math/embedded.hpp"
#include "support/fail.hpp"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBufferRef.h>

#include <algorithm>
#include <string>
#include <vector>

namespace broadloom::jit {

[[noreturn]] static void fail(const std::string &message) {
  support::fail("E0501", "the vector math cannot be linked: " + message, {},
                "run with the interpreter (Engine::interpreter), which gives the same bits");
}

static void link_function(llvm::Module &module, const Target &target, const std::string &name) {
  const std::span<const unsigned char> bytes = bitcode(target.isa->math, name);
  if (bytes.empty()) return; // one that the linker knows
  const llvm::StringRef text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  auto library =
      llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(text, "vector math"), module.getContext());
  if (!library) fail(llvm::toString(library.takeError()));
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded))
    fail("the module of " + name + " does not fit");
}

void check_math(const loop::Program &program, const Target &target) {
  if (!target.isa->device) return;
  const auto is_called = [](const ops::Code &code) {
    return std::ranges::any_of(code.lines, [](const ops::Code::Line &line) {
      return line.kind == ops::Code::Line::Kind::Op && line.op == ops::Op::Polygamma;
    });
  };
  const bool called = std::ranges::any_of(program.values,
                                          [](const loop::Value &value) {
                                            return value.kind == loop::ValueKind::Op &&
                                                   value.op == ops::Op::Polygamma;
                                          }) ||
                      std::ranges::any_of(program.recipes, [&](const ops::Recipe &recipe) {
                        return is_called(recipe.step) || is_called(recipe.combine);
                      });
  if (called)
    support::fail("E0506",
                  "'polygamma' cannot run on a device: it is computed in numbers of 80 bits, which "
                  "processors alone have",
                  {}, "compute it in a kernel of its own, without a device");
}

bool link_math(llvm::Module &module, const Target &target) {
  std::vector<std::string> wanted, before;
  for (const llvm::Function &function : module)
    if (!function.isDeclaration())
      before.push_back(function.getName().str());
    else if (function.getName().starts_with("bl_") &&
             (target.isa->core.warp > 0 || !function.getName().starts_with("bl_libm_")))
      wanted.push_back(function.getName().str());
  if (wanted.empty()) return false;
  for (const std::string &name : wanted) link_function(module, target, name);
  const llvm::Function *phase = module.getFunction(before.front());
  for (llvm::Function &function : module) {
    if (function.isDeclaration() ||
        std::find(before.begin(), before.end(), function.getName()) != before.end()) {
      continue;
    }
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    for (const char *name : {"target-cpu", "tune-cpu", "target-features", "min-legal-vector-width",
                             "prefer-vector-width", "frame-pointer", "stack-protector-buffer-size",
                             "no-trapping-math"}) {
      function.removeFnAttr(name);
      if (phase->hasFnAttribute(name)) function.addFnAttr(phase->getFnAttribute(name));
    }
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.removeFnAttr(llvm::Attribute::UWTable);
    // What a function does for rare arguments is long, and is called.
    if (function.hasFnAttribute(llvm::Attribute::Cold)) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  for (llvm::GlobalVariable &variable : module.globals())
    if (!variable.isDeclaration()) variable.setLinkage(llvm::GlobalValue::InternalLinkage);
  if (llvm::NamedMDNode *ident = module.getNamedMetadata("llvm.ident")) ident->eraseFromParent();
  return true;
}

} // namespace broadloom::jit
