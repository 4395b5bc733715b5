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
namespace x86_64 = llvm::jitlink::x86_64;
namespace aarch64 = llvm::jitlink::aarch64;

namespace {

bool is_code(const jitlink::Section &section) {
  return section.getMemLifetime() == llvm::orc::MemLifetime::Standard;
}

// What a linker must know of the instructions: which edges are distances, that hold wherever the
// code lies, which is an address, and where code may begin.
struct Rules {
  llvm::Error (*keep_stubs)(jitlink::LinkGraph &);
  bool (*is_distance)(jitlink::Edge::Kind);
  jitlink::Edge::Kind address;
  std::uint64_t alignment; // of the first byte
};

// Where a function outside lies near, JITLink would call it by its distance, which holds in this
// process alone.
llvm::Error keep_stubs_of_x86(jitlink::LinkGraph &graph) {
  for (jitlink::Block *block : graph.blocks())
    for (jitlink::Edge &edge : block->edges()) switch (edge.getKind()) {
      case x86_64::BranchPCRel32ToPtrJumpStubBypassable:
        edge.setKind(x86_64::BranchPCRel32ToPtrJumpStub);
        break;
      case x86_64::PCRel32GOTLoadRelaxable:
      case x86_64::PCRel32GOTLoadREXRelaxable: edge.setKind(x86_64::PCRel32); break;
      default: break; // the kinds of LLVM are numbers, and others are as they are
      }
  return llvm::Error::success();
}

bool is_distance_of_x86(jitlink::Edge::Kind kind) {
  switch (kind) {
  case x86_64::Delta64:
  case x86_64::Delta32:
  case x86_64::Delta8:
  case x86_64::NegDelta64:
  case x86_64::NegDelta32:
  case x86_64::BranchPCRel32:
  case x86_64::PCRel32:
  case x86_64::BranchPCRel32ToPtrJumpStub: return true;
  default: return false;
  }
}

// JITLink calls what is outside by stubs alone.
llvm::Error keep_stubs_of_aarch64(jitlink::LinkGraph &) { return llvm::Error::success(); }

// Those of pages hold because images are moved by whole pages.
bool is_distance_of_aarch64(jitlink::Edge::Kind kind) {
  switch (kind) {
  case aarch64::Delta64:
  case aarch64::Delta32:
  case aarch64::NegDelta64:
  case aarch64::NegDelta32:
  case aarch64::Branch26PCRel:
  case aarch64::TestAndBranch14PCRel:
  case aarch64::CondBranch19PCRel:
  case aarch64::LDRLiteral19:
  case aarch64::ADRLiteral21:
  case aarch64::Page21:
  case aarch64::PageOffset12: return true;
  default: return false;
  }
}

constexpr Rules rules_of_x86{keep_stubs_of_x86, is_distance_of_x86, x86_64::Pointer64, 64};
constexpr Rules rules_of_aarch64{keep_stubs_of_aarch64, is_distance_of_aarch64, aarch64::Pointer64,
                                 4096};

// Code is linked for other machines than this one, too, and then run there.
const Rules &rules_for(const jitlink::LinkGraph &graph) {
  return graph.getTargetTriple().isAArch64() ? rules_of_aarch64 : rules_of_x86;
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
                               jitlink::LinkGraph &graph, jitlink::PassConfiguration &config) {
  const llvm::orc::JITDylib &library = linked.getTargetJITDylib();
  {
    const std::lock_guard lock(mutex_);
    if (!kept_.contains(&library)) return;
  }
  config.PostAllocationPasses.emplace_back(rules_for(graph).keep_stubs);
  config.PostFixupPasses.emplace_back([this, &library](jitlink::LinkGraph &fixed) {
    add(library, fixed);
    return llvm::Error::success();
  });
}

// Behind what there is of the library so far.
void Capture::add(const llvm::orc::JITDylib &library, jitlink::LinkGraph &graph) {
  const Rules &rules = rules_for(graph);
  std::uint64_t first = UINT64_MAX, end = 0;
  for (jitlink::Block *block : graph.blocks()) {
    if (!is_code(block->getSection())) continue;
    first = std::min(first, block->getAddress().getValue());
    end = std::max(end, block->getAddress().getValue() + block->getSize());
  }
  if (end == 0) return;
  first = first / rules.alignment * rules.alignment;
  const std::lock_guard lock(mutex_);
  Kept &kept = kept_[&library];
  std::string &bytes = kept.image.bytes;
  const std::size_t base = (bytes.size() + rules.alignment - 1) / rules.alignment * rules.alignment;
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
      if (is_inside && rules.is_distance(edge.getKind())) continue;
      if (edge.getKind() != rules.address || (!is_inside && !target.hasName())) {
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
