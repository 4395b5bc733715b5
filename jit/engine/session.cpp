// See session.hpp.
#include "jit/engine/session.hpp"

#include "math/libm.hpp"
#include "support/fail.hpp"
#include "support/log.hpp"

#include <llvm/ExecutionEngine/Orc/Debugging/PerfSupportPlugin.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderPerf.h>

#include <array>
#include <utility>

namespace broadloom::jit {

namespace orc = llvm::orc;

void fail_native(const std::string &message) {
  support::fail("E0501", "native code cannot be had: " + message, {},
                "run with the interpreter (Engine::Interpreter), which gives the same bits");
}

namespace {

constexpr std::size_t slab_bytes = std::size_t{64} << 20; // of address space, used bit by bit

orc::ExecutorSymbolDef function_at(const void *address) {
  return {orc::ExecutorAddr::fromPtr(address),
          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
}

// LLVM's writer of dumps, under the names by which its plugin asks for it.
orc::SymbolMap dump_writer(orc::ExecutionSession &session) {
  using Writer = llvm::orc::shared::CWrapperFunctionResult (*)(const char *, std::uint64_t);
  constexpr std::array<std::pair<const char *, Writer>, 3> functions = {
      {{"llvm_orc_registerJITLoaderPerfStart", llvm_orc_registerJITLoaderPerfStart},
       {"llvm_orc_registerJITLoaderPerfEnd", llvm_orc_registerJITLoaderPerfEnd},
       {"llvm_orc_registerJITLoaderPerfImpl", llvm_orc_registerJITLoaderPerfImpl}}};
  orc::SymbolMap symbols;
  for (const auto &[name, function] : functions)
    symbols[session.intern(name)] = function_at(reinterpret_cast<const void *>(function));
  return symbols;
}

} // namespace

Session &Session::instance() {
  static Session &made = *new Session;
  return made;
}

Session::Session()
    : session_(take(orc::SelfExecutorProcessControl::Create(
          nullptr, std::make_unique<orc::InPlaceTaskDispatcher>()))),
      linker_(make_linker()), libm_(session_.createBareJITDylib("libm")) {
  session_.setErrorReporter([this](llvm::Error error) { // nothing is ever printed
    const std::lock_guard lock(mutex_);
    last_error_ = llvm::toString(std::move(error));
  });
  orc::SymbolMap symbols;
  for (const math::LibmSymbol &s : math::libm_symbols())
    symbols[session_.intern(llvm::StringRef(s.symbol.data(), s.symbol.size()))] =
        function_at(s.address);
  if (auto error = libm_.define(orc::absoluteSymbols(std::move(symbols))))
    fail_native(llvm::toString(std::move(error)));
}

std::unique_ptr<orc::ObjectLinkingLayer> Session::make_linker() {
  return std::make_unique<orc::ObjectLinkingLayer>(
      session_,
      take(orc::MapperJITLinkMemoryManager::CreateWithMapper<orc::InProcessMemoryMapper>(
          slab_bytes)));
}

orc::ObjectLinkingLayer *Session::make_dumping_linker() {
  orc::JITDylib &writer = session_.createBareJITDylib("jitdump");
  llvm::Error error = writer.define(orc::absoluteSymbols(dump_writer(session_)));
  if (!error) {
    auto plugin = orc::PerfSupportPlugin::Create(session_.getExecutorProcessControl(), writer,
                                                 /*EmitDebugInfo=*/false,
                                                 /*EmitUnwindInfo=*/false);
    if (plugin) {
      auto linker = make_linker();
      linker->addPlugin(std::move(*plugin));
      return linker.release(); // lives as long as the session
    }
    error = plugin.takeError();
  }
  support::log().warn("perf will not see kernels by name: no jitdump file: {}",
                      llvm::toString(std::move(error)));
  return nullptr;
}

orc::ObjectLinkingLayer &Session::linker(bool dump) {
  if (!dump) return *linker_;
  std::call_once(dumping_once_, [this] { dumping_linker_ = make_dumping_linker(); });
  return dumping_linker_ != nullptr ? *dumping_linker_ : *linker_;
}

orc::JITDylib &Session::add(std::unique_ptr<llvm::MemoryBuffer> object, bool dump) {
  orc::JITDylib &library =
      session_.createBareJITDylib("kernel " + std::to_string(next_.fetch_add(1)));
  library.addToLinkOrder(libm_);
  if (auto error = linker(dump).add(library, std::move(object))) {
    const std::string message = llvm::toString(std::move(error));
    remove(library);
    fail_native(message);
  }
  return library;
}

std::vector<orc::ExecutorAddr> Session::find(orc::JITDylib &library,
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

void Session::remove(orc::JITDylib &library) {
  if (auto error = session_.removeJITDylib(library)) llvm::consumeError(std::move(error));
}

} // namespace broadloom::jit
