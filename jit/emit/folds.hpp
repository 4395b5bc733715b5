// Loops with accumulators, and short rows: the turns of their boxes, and the joins of the tree in
// between.
//
// fold.cpp has leaves, cascade.cpp their joins, short_rows.cpp loops of a few known turns inside of
// lanes, strips.cpp blocks of a scan there.
#pragma once

#include "jit/emit/accumulators.hpp"
#include "jit/emit/memory.hpp"

#include <optional>

namespace broadloom::jit {

class PhaseEmitter;

class Folds {
public:
  Folds(Context &context, Accumulators &accs, Memory &memory, PhaseEmitter &walk)
      : context_(context), program_(context.program), ir_(context.ir), lanes_(context.lanes),
        accs_(accs), memory_(memory), walk_(walk) {}

  void fold(const Place &here, const block::Run &run, Range range);
  // What it comes to: of each copy of the place, or of the one that there is.
  Blocks folded(const Place &here, const block::Run &run, Range range);
  void step(const Place &here, loop::AccId acc, const std::vector<loop::ValueId> &args);
  void short_loop(const Place &around, const block::Run &run);
  void unrolled_fold(const Place &here, const block::Run &run);

  // What the accumulators of a loop start from: the values given, or the recipes' own start.
  AllStates start(const Place &here, const loop::Loop &loop, bool given);
  // One position after the other; `begins` where the leaf has had no steps before.
  AllStates serial_leaf(const Place &here, const block::Run &run, Range range,
                        const AllStates &start, bool begins = true);

private:
  // fold.cpp
  void each_copy(const Place &here, llvm::function_ref<void(const Place &, std::size_t)> turn);
  Blocks leaf(const Place &here, const block::Run &run, Range range);
  Blocks vector_leaf(const Place &here, const block::Run &run, Range range);
  Blocks steps(const Place &here, const block::Run &run, const block::Box &box, Range range,
               std::int64_t stride, const Blocks &blocks, std::int64_t apart,
               std::optional<Path> path, bool from_identity);
  Blocks masked_steps(const Place &here, const block::Run &run, Range range, llvm::Value *end,
                      const Blocks &blocks);
  void expect_none(llvm::BasicBlock &before);

  // strips.cpp
  AllStates strips(const Place &here, const block::Run &run, Range range, const AllStates &start);
  AllStates strip(const Place &here, const block::Run &run, llvm::Value *first,
                  const AllStates &start);

  // cascade.cpp
  Blocks cascade(const Place &here, const block::Run &run, Range range);
  AllStates joined_leaves(const Place &here, const block::Run &run, llvm::Value *start);
  std::pair<llvm::Value *, llvm::Value *> groups_of_leaves(const Place &here, const block::Run &run,
                                                           Range range,
                                                           const Accumulators::Slots &stacks);

  // short_rows.cpp
  AllStates unrolled(const Place &here, const block::Run &run);
  std::optional<AllStates> lane_tree(const Place &here, const block::Run &run, int lane, int apart);
  AllStates on_stack(const Place &here, const block::Run &run);
  AllStates join_on_stack(const loop::Loop &loop, const Accumulators::Slots &slots);

  Context &context_;
  const loop::Program &program_;
  Builder &ir_;
  Lanes &lanes_;
  Accumulators &accs_;
  Memory &memory_;
  PhaseEmitter &walk_;
};

} // namespace broadloom::jit
