// See linker.hpp.
#include "jit/engine/linker.hpp"

#include "jit/native/warp.hpp"
#include "math/libm.hpp"
#include "math/scalar.hpp"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h>

namespace broadloom::jit {

namespace orc = llvm::orc;

namespace {

// Constants are as executable as code. Then a kernel is one range of pages, alike with those of its
// neighbours, and Linux counts any number of them as one mapping; there may be 65,530, and a
// process whose kernels had two each came to its end at 32,700.
class OneProtection final : public LinkPasses {
public:
  void modifyPassConfig(orc::MaterializationResponsibility &, llvm::jitlink::LinkGraph &,
                        llvm::jitlink::PassConfiguration &config) override {
    config.PostPrunePasses.emplace_back(&OneProtection::protect);
  }

private:
  static llvm::Error protect(llvm::jitlink::LinkGraph &graph) {
    constexpr auto code = orc::MemProt(unsigned(orc::MemProt::Read) | unsigned(orc::MemProt::Exec));
    for (llvm::jitlink::Section &section : graph.sections())
      if (section.getMemProt() == orc::MemProt::Read) section.setMemProt(code);
    return llvm::Error::success();
  }
};

constexpr std::size_t slab_bytes = std::size_t{64} << 20; // of address space, used bit by bit

} // namespace

Linker &Linker::instance() {
  static Linker &made = *new Linker;
  return made;
}

Linker::Linker()
    : session_(take(orc::SelfExecutorProcessControl::Create(
          nullptr, std::make_unique<orc::InPlaceTaskDispatcher>()))),
      linker_(session_,
              take(orc::MapperJITLinkMemoryManager::CreateWithMapper<orc::InProcessMemoryMapper>(
                  slab_bytes))),
      capture_(std::make_shared<Capture>()), libm_(session_.createBareJITDylib("libm")) {
  linker_.addPlugin(std::make_shared<OneProtection>());
  linker_.addPlugin(capture_);
  session_.setErrorReporter([this](llvm::Error error) { // nothing is ever printed
    const std::lock_guard lock(mutex_);
    last_error_ = llvm::toString(std::move(error));
  });
  orc::SymbolMap symbols;
  const auto add = [&](std::string_view symbol, void *address) {
    symbols[session_.intern(llvm::StringRef(symbol.data(), symbol.size()))] = {
        orc::ExecutorAddr::fromPtr(address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  for (const math::LibmSymbol &s : math::libm_symbols()) add(s.symbol, s.address);
  for (const WarpSymbol &s : warp_symbols()) add(s.symbol, s.address);
  for (const math::ColdSymbol &s : math::cold_symbols()) add(s.symbol, s.address);
  if (auto error = libm_.define(orc::absoluteSymbols(std::move(symbols))))
    fail_native(llvm::toString(std::move(error)));
}

orc::JITDylib &Linker::add(std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects, Keep keep) {
  orc::JITDylib &library =
      session_.createBareJITDylib("kernel " + std::to_string(next_.fetch_add(1)));
  library.addToLinkOrder(libm_);
  if (keep == Keep::Image) capture_->begin(library);
  for (std::unique_ptr<llvm::MemoryBuffer> &object : objects)
    if (auto error = linker_.add(library, std::move(object))) {
      const std::string message = llvm::toString(std::move(error));
      remove(library);
      fail_native(message);
    }
  return library;
}

std::vector<orc::ExecutorAddr> Linker::find(orc::JITDylib &library,
                                            llvm::ArrayRef<std::string> names) {
  orc::SymbolLookupSet wanted;
  for (const std::string &name : names) wanted.add(session_.intern(name));
  auto found = session_.lookup(orc::makeJITDylibSearchOrder(&library), std::move(wanted));
  if (!found) {
    std::string message = llvm::toString(found.takeError());
    {
      const std::lock_guard lock(mutex_);
      if (!last_error_.empty()) message += " (" + last_error_ + ")";
    }
    fail_native(message);
  }
  std::vector<orc::ExecutorAddr> addresses;
  for (const std::string &name : names)
    addresses.push_back((*found)[session_.intern(name)].getAddress());
  return addresses;
}

void Linker::remove(orc::JITDylib &library) {
  capture_->end(library, {});
  if (auto error = session_.removeJITDylib(library)) llvm::consumeError(std::move(error));
}

} // namespace broadloom::jit
