// See functions.hpp.
#include "jit/engine/functions.hpp"

#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/Error.h>

namespace broadloom::jit {

std::vector<Function> functions_of(llvm::MemoryBufferRef object) {
  auto file = llvm::object::ObjectFile::createObjectFile(object);
  if (!file) {
    llvm::consumeError(file.takeError());
    return {};
  }
  std::vector<Function> functions;
  for (const llvm::object::ELFSymbolRef symbol :
       llvm::cast<llvm::object::ELFObjectFileBase>(**file).symbols()) {
    if (symbol.getELFType() != llvm::ELF::STT_FUNC) continue;
    const auto name = llvm::expectedToOptional(symbol.getName());
    const auto offset = llvm::expectedToOptional(symbol.getValue());
    if (name && offset) functions.push_back({name->str(), *offset, symbol.getSize()});
  }
  return functions;
}

} // namespace broadloom::jit
