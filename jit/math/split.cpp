// split INPUT OUTPUT: the vector math as one bitcode module for each function, with an index.
//
// Problem: a kernel calls one function or two of some 250. To read the module of all of them,
// bodies left out, takes a millisecond.
// Method: at build time each function goes into a module of its own, with all that it needs.
// Several of them are linked as one would be: what two of them need has one name.
//
//   u64 count, then for each function, sorted by name, four u64: where its name begins, its length,
//   where its bitcode begins, its length
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

[[noreturn]] void fail(const std::string &message) {
  std::fprintf(stderr, "split: %s\n", message.c_str());
  std::exit(1);
}

std::string module_of(llvm::MemoryBufferRef all, const std::string &name) {
  llvm::LLVMContext context;
  auto whole = llvm::getLazyBitcodeModule(all, context);
  if (!whole) fail(llvm::toString(whole.takeError()));
  llvm::Module one(name, context);
  one.setTargetTriple((*whole)->getTargetTriple());
  one.setDataLayout((*whole)->getDataLayout());
  one.getOrInsertFunction(name, (*whole)->getFunction(name)->getFunctionType());
  if (llvm::Linker::linkModules(one, std::move(*whole), llvm::Linker::LinkOnlyNeeded))
    fail("cannot take " + name + " out");
  // What several functions call is in the module of each, and once where they come together.
  for (llvm::Function &function : one)
    if (!function.isDeclaration() && function.hasExternalLinkage() && function.getName() != name)
      function.setLinkage(llvm::GlobalValue::LinkOnceODRLinkage);
  std::string bitcode;
  llvm::raw_string_ostream out(bitcode);
  llvm::WriteBitcodeToFile(one, out);
  bitcode.resize((bitcode.size() + 7) / 8 * 8); // LLVM reads words
  return bitcode;
}

} // namespace

int main(int, char **argv) {
  const auto file = llvm::MemoryBuffer::getFile(argv[1]);
  if (!file) fail(std::string("cannot read ") + argv[1]);
  std::map<std::string, std::string> modules;
  {
    llvm::LLVMContext context;
    auto all = llvm::getLazyBitcodeModule((*file)->getMemBufferRef(), context);
    if (!all) fail(llvm::toString(all.takeError()));
    for (const llvm::Function &function : **all)
      if (!function.isDeclaration() && function.hasExternalLinkage())
        modules[function.getName().str()];
  }
  for (auto &[name, bitcode] : modules) bitcode = module_of((*file)->getMemBufferRef(), name);

  std::vector<std::uint64_t> index{modules.size()};
  std::uint64_t names = 8 * (1 + 4 * modules.size()), name_bytes = 0, at = names;
  for (const auto &[name, bitcode] : modules) name_bytes += name.size();
  at += (name_bytes + 7) / 8 * 8;
  std::string text, bodies;
  for (const auto &[name, bitcode] : modules) {
    index.insert(index.end(),
                 {names + text.size(), name.size(), at + bodies.size(), bitcode.size()});
    text += name;
    bodies += bitcode;
  }
  text.resize((text.size() + 7) / 8 * 8);
  std::ofstream out(argv[2], std::ios::binary);
  out.write(reinterpret_cast<const char *>(index.data()), std::streamsize(8 * index.size()));
  out << text << bodies;
  return out.flush() ? 0 : 1;
}
