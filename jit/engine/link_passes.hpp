// A plugin of JITLink that adds passes and has nothing to say of what becomes of the code.
#pragma once

#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

namespace broadloom::jit {

class LinkPasses : public llvm::orc::ObjectLinkingLayer::Plugin {
public:
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility &) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib &, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib &, llvm::orc::ResourceKey,
                                   llvm::orc::ResourceKey) override {}
};

} // namespace broadloom::jit
