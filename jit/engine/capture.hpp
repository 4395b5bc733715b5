// Sees an object file being linked and keeps an Image of what comes out: see image.hpp.
#pragma once

#include "jit/engine/link_passes.hpp"
#include "jit/native/image.hpp"
#include "support/undivided.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace broadloom::jit {

class Capture final : public LinkPasses { // thread-safe
public:
  // From now on the files that are linked into the library are kept, as one image.
  void begin(const llvm::orc::JITDylib &library);
  // The image with these functions as its phases, and no more is kept. Nothing where the code
  // cannot lie elsewhere.
  std::optional<Image> end(const llvm::orc::JITDylib &library,
                           const std::vector<std::string> &phases);

  void modifyPassConfig(llvm::orc::MaterializationResponsibility &linked,
                        llvm::jitlink::LinkGraph &graph,
                        llvm::jitlink::PassConfiguration &config) override;

private:
  struct Kept {
    Image image;
    std::map<std::string, std::uint32_t> functions; // where each begins
    bool movable = true;
  };
  void add(const llvm::orc::JITDylib &library, llvm::jitlink::LinkGraph &graph);

  support::Mutex mutex_;
  std::map<const llvm::orc::JITDylib *, Kept> kept_;
};

} // namespace broadloom::jit
