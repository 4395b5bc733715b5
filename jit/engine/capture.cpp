// See capture.hpp.
#include "jit/engine/capture.hpp"

#include "support/log.hpp"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/x86_64.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace broadloom::jit {

namespace jitlink = llvm::jitlink;
namespace x86 = llvm::jitlink::x86_64;

namespace {

bool is_code(const jitlink::Section &section) {
  return section.getMemLifetime() == llvm::orc::MemLifetime::Standard;
}

// Where a function outside lies near, JITLink would call it by its distance, which holds in this process alone.
llvm::Error keep_stubs(jitlink::LinkGraph &graph) {
  for (jitlink::Block *block : graph.blocks())
    for (jitlink::Edge &edge : block->edges()) switch (edge.getKind()) {
      case x86::BranchPCRel32ToPtrJumpStubBypassable:
        edge.setKind(x86::BranchPCRel32ToPtrJumpStub);
        break;
      case x86::PCRel32GOTLoadRelaxable:
      case x86::PCRel32GOTLoadREXRelaxable: edge.setKind(x86::PCRel32); break;
      default: break; // the kinds of LLVM are numbers, and others are as they are
      }
  return llvm::Error::success();
}

bool is_distance(jitlink::Edge::Kind kind) {
  switch (kind) {
  case x86::Delta64:
  case x86::Delta32:
  case x86::Delta8:
  case x86::NegDelta64:
  case x86::NegDelta32:
  case x86::BranchPCRel32:
  case x86::PCRel32:
  case x86::BranchPCRel32ToPtrJumpStub: return true;
  default: return false;
  }
}

} // namespace

void Capture::begin(const llvm::orc::JITDylib &library) {
  const std::lock_guard lock(mutex_);
  kept_[&library];
}

std::optional<Image> Capture::end(const llvm::orc::JITDylib &library,
                                  const std::vector<std::string> &phases) {
  Kept kept;
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(&library);
    if (found == kept_.end()) return std::nullopt;
    kept = std::move(found->second);
    kept_.erase(found);
  }
  if (!kept.movable) return std::nullopt;
  for (const std::string &phase : phases) {
    const auto found = kept.functions.find(phase);
    if (found == kept.functions.end()) return std::nullopt;
    kept.image.phases.push_back(found->second);
  }
  return std::move(kept.image);
}

void Capture::modifyPassConfig(llvm::orc::MaterializationResponsibility &linked,
                               jitlink::LinkGraph &, jitlink::PassConfiguration &config) {
  const llvm::orc::JITDylib &library = linked.getTargetJITDylib();
  {
    const std::lock_guard lock(mutex_);
    if (!kept_.contains(&library)) return;
  }
  config.PostAllocationPasses.emplace_back(keep_stubs);
  config.PostFixupPasses.emplace_back([this, &library](jitlink::LinkGraph &graph) {
    add(library, graph);
    return llvm::Error::success();
  });
}

// Behind what there is of the library so far.
void Capture::add(const llvm::orc::JITDylib &library, jitlink::LinkGraph &graph) {
  std::uint64_t first = UINT64_MAX, end = 0;
  for (jitlink::Block *block : graph.blocks()) {
    if (!is_code(block->getSection())) continue;
    first = std::min(first, block->getAddress().getValue());
    end = std::max(end, block->getAddress().getValue() + block->getSize());
  }
  if (end == 0) return;
  first = first / Image::alignment * Image::alignment;
  const std::lock_guard lock(mutex_);
  Kept &kept = kept_[&library];
  std::string &bytes = kept.image.bytes;
  const std::size_t base =
      (bytes.size() + Image::alignment - 1) / Image::alignment * Image::alignment;
  bytes.resize(base + (end - first));
  const auto place_of = [&](llvm::orc::ExecutorAddr address) {
    return std::uint32_t(base + (address.getValue() - first));
  };
  for (jitlink::Block *block : graph.blocks()) {
    if (!is_code(block->getSection())) continue;
    if (!block->isZeroFill())
      std::memcpy(bytes.data() + place_of(block->getAddress()), block->getContent().data(),
                  block->getSize());
    for (const jitlink::Edge &edge : block->edges()) {
      if (!edge.isRelocation()) continue;
      const jitlink::Symbol &target = edge.getTarget();
      const bool is_inside = target.isDefined() && is_code(target.getBlock().getSection());
      if (is_inside && is_distance(edge.getKind())) continue;
      if (edge.getKind() != x86::Pointer64 || (!is_inside && !target.hasName())) {
        support::log().debug("code that holds a place of {} is not kept on disk",
                             target.hasName() ? target.getName().str() : "its own");
        kept.movable = false;
        return;
      }
      Image::Slot slot{place_of(block->getFixupAddress(edge)), edge.getAddend(), {}};
      if (is_inside)
        slot.addend += place_of(target.getAddress());
      else
        slot.symbol = target.getName().str();
      kept.image.slots.push_back(std::move(slot));
    }
  }
  for (const jitlink::Symbol *symbol : graph.defined_symbols())
    if (symbol->hasName() && is_code(symbol->getBlock().getSection()))
      kept.functions.emplace(symbol->getName().str(), place_of(symbol->getAddress()));
}

} // namespace broadloom::jit
