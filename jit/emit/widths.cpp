// How wide the vector loops of a program are run, told without making their code: see LoopWidth.
#include "jit/emit/phase.hpp"

#include <llvm/IR/Module.h>

namespace broadloom::jit {

std::vector<LoopWidth> PhaseEmitter::widths() const {
  std::vector<LoopWidth> found;
  for (std::uint32_t k = 0; k < program_.loops.size(); ++k) {
    const loop::LoopId id{k};
    const Survey::LoopFacts &facts = survey_.loops[k];
    // Loops of other phases have not been seen by the survey of this one.
    if (facts.buffers.empty() || !runs_as_vector(program_, program_[id])) continue;
    LoopWidth width;
    width.loop = id;
    width.lanes = base_width(id);
    width.narrow = facts.widest <= 2;
    if (program_[id].scan) {
      width.shape = LoopWidth::Shape::Scan;
    } else if (!program_[id].accs.empty()) {
      const bool copied = !facts.costly && !facts.inner_loops;
      width.shape = copied ? LoopWidth::Shape::Fold : LoopWidth::Shape::HeavyFold;
      width.groups = copied ? loop::fold_lanes / width.lanes : 1;
    } else if (streams(id).empty() && map_width(id) > width.lanes) {
      width.shape = LoopWidth::Shape::ColumnBlock;
      width.groups = map_width(id) / width.lanes;
    }
    found.push_back(width);
  }
  for (std::uint32_t k = 0; k < program_.loops.size(); ++k) {
    const std::optional<RowBlock> block = row_block(loop::LoopId{k});
    for (LoopWidth &width : found) {
      if (!block || width.loop.index != block->inner.index) continue;
      width.shape = LoopWidth::Shape::RowBlock;
      width.groups = block->width / width.lanes;
      width.rows = block->rows;
    }
  }
  return found;
}

std::vector<LoopWidth> loop_widths(const loop::Program &program, const Target &target) {
  llvm::LLVMContext context;
  llvm::Module module("widths", context);
  const Weights weights = weigh(program);
  std::vector<LoopWidth> found;
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    auto *function =
        llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), false),
                               llvm::Function::ExternalLinkage, phase_name(p), module);
    for (LoopWidth width : PhaseEmitter(program, p, target, weights, function).widths()) {
      width.phase = p;
      found.push_back(width);
    }
  }
  return found;
}

} // namespace broadloom::jit
