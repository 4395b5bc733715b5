// See capture.hpp.
#include "jit/engine/capture.hpp"

#include "support/log.hpp"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/aarch64.h>
#include <llvm/ExecutionEngine/JITLink/x86_64.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace broadloom::jit {

namespace jitlink = llvm::jitlink;
#if defined(__x86_64__)
namespace native = llvm::jitlink::x86_64;
#else
namespace native = llvm::jitlink::aarch64;
#endif

namespace {

bool is_code(const jitlink::Section &section) {
  return section.getMemLifetime() == llvm::orc::MemLifetime::Standard;
}

// What a linker must know of the instructions: which edges are distances, that hold wherever the
// code lies, and which is an address.
#if defined(__x86_64__)

// Where a function outside lies near, JITLink would call it by its distance, which holds in this process alone.
llvm::Error keep_stubs(jitlink::LinkGraph &graph) {
  for (jitlink::Block *block : graph.blocks())
    for (jitlink::Edge &edge : block->edges()) switch (edge.getKind()) {
      case native::BranchPCRel32ToPtrJumpStubBypassable:
        edge.setKind(native::BranchPCRel32ToPtrJumpStub);
        break;
      case native::PCRel32GOTLoadRelaxable:
      case native::PCRel32GOTLoadREXRelaxable: edge.setKind(native::PCRel32); break;
      default: break; // the kinds of LLVM are numbers, and others are as they are
      }
  return llvm::Error::success();
}

bool is_distance(jitlink::Edge::Kind kind) {
  switch (kind) {
  case native::Delta64:
  case native::Delta32:
  case native::Delta8:
  case native::NegDelta64:
  case native::NegDelta32:
  case native::BranchPCRel32:
  case native::PCRel32:
  case native::BranchPCRel32ToPtrJumpStub: return true;
  default: return false;
  }
}

#else // aarch64, where JITLink calls what is outside by stubs alone

llvm::Error keep_stubs(jitlink::LinkGraph &) { return llvm::Error::success(); }

// Those of pages hold because images are moved by whole pages (Image::alignment).
bool is_distance(jitlink::Edge::Kind kind) {
  switch (kind) {
  case native::Delta64:
  case native::Delta32:
  case native::NegDelta64:
  case native::NegDelta32:
  case native::Branch26PCRel:
  case native::TestAndBranch14PCRel:
  case native::CondBranch19PCRel:
  case native::LDRLiteral19:
  case native::ADRLiteral21:
  case native::Page21:
  case native::PageOffset12: return true;
  default: return false;
  }
}

#endif

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
      if (edge.getKind() != native::Pointer64 || (!is_inside && !target.hasName())) {
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
