// The leaves of a fold, joined pairwise: see fold.cpp for the tree.
//
// Leaves of few states run several at a time, from the first on: each step of a leaf waits for the
// one before it, so that one leaf alone would leave most of the adders idle. Of these, four say,
// the joins of the lowest levels are known; what comes of them goes on the stack some levels up, as
// if one leaf after the other had been put there.
#include "jit/emit/phase.hpp"

#include "loop/tree.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <tuple>

namespace broadloom::jit {

using namespace loop;

namespace {
constexpr int cascade_levels = 48; // more leaves than a process has addresses
} // namespace

//   start = begin, count = 0
//   do  joined = leaf(start .. min(start + leaf, end))
//       for each bit of count, the lowest first; more leaves ? only its low ones : all
//         joined = stack[place of the bit] (+) joined
//       if no more leaves: done
//       stack[number of count's low ones] = joined, count += 1, start += leaf
//
// A range of a single leaf passes straight through.
Blocks Folds::cascade(const Place &here, const block::Run &run, Range range) {
  const Loop &loop = program_[run.loop];
  llvm::Type *i64 = ir_.getInt64Ty();
  const Blocks empty(here.count_copies(), this->start(here, loop, false));
  const Accumulators::Slots stacks = accs_.slots(flat(empty), cascade_levels);
  llvm::Value *first = range.begin, *leaves = ir_.getInt64(0);
  if (run.boxes.size() > 1 && run.whole().dims[0].leaves)
    std::tie(first, leaves) = groups_of_leaves(here, run, range, stacks);
  llvm::BasicBlock *before = ir_.GetInsertBlock();
  llvm::BasicBlock *next_leaf = context_.block("leaf"), *level_head = context_.block("level");
  llvm::BasicBlock *carry = context_.block("carry"), *carried = context_.block("carried");
  llvm::BasicBlock *keep = context_.block("keep"), *done = context_.block("joined");
  ir_.CreateBr(next_leaf);

  ir_.SetInsertPoint(next_leaf);
  llvm::PHINode *start = ir_.CreatePHI(i64, 2);
  llvm::PHINode *count = ir_.CreatePHI(i64, 2);
  start->addIncoming(first, before);
  count->addIncoming(leaves, before);
  llvm::Value *leaf_end =
      context_.least(range.end, ir_.CreateAdd(start, context_.number(loop.leaf)));
  const Values fresh = flat(leaf(here, run, {start, leaf_end}));
  llvm::Value *more = ir_.CreateICmpSLT(leaf_end, range.end);
  llvm::BasicBlock *leaf_done = ir_.GetInsertBlock();
  llvm::Value *next_count = ir_.CreateAdd(count, ir_.getInt64(1));
  llvm::Value *low_ones = ir_.CreateAnd(count, ir_.CreateNot(next_count));
  llvm::Value *to_join = ir_.CreateSelect(more, low_ones, count);
  const auto zeros_below = [&](llvm::Value *bits) {
    return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, ir_.getTrue());
  };
  ir_.CreateBr(level_head);

  ir_.SetInsertPoint(level_head);
  llvm::PHINode *bits = ir_.CreatePHI(i64, 2);
  bits->addIncoming(to_join, leaf_done);
  Values joined;
  for (llvm::Value *value : fresh) {
    llvm::PHINode *phi = ir_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, leaf_done);
    joined.push_back(phi);
  }
  ir_.CreateCondBr(ir_.CreateICmpNE(bits, ir_.getInt64(0)), carry, carried);

  ir_.SetInsertPoint(carry);
  context_.took(Path::LeafJoined);
  const Blocks earlier = accs_.load(loop, stacks, zeros_below(bits));
  const Blocks later = accs_.blocks(loop, joined);
  Values both;
  for (std::size_t k = 0; k < later.size(); ++k)
    std::ranges::copy(flat(accs_.join(loop, earlier[k], later[k])), std::back_inserter(both));
  llvm::Value *next_bits = ir_.CreateAnd(bits, ir_.CreateSub(bits, ir_.getInt64(1)));
  llvm::BasicBlock *carry_done = ir_.GetInsertBlock();
  for (std::size_t k = 0; k < joined.size(); ++k)
    llvm::cast<llvm::PHINode>(joined[k])->addIncoming(both[k], carry_done);
  bits->addIncoming(next_bits, carry_done);
  ir_.CreateBr(level_head);

  ir_.SetInsertPoint(carried);
  ir_.CreateCondBr(more, keep, done);
  ir_.SetInsertPoint(keep);
  accs_.store(stacks, zeros_below(ir_.CreateNot(count)), joined);
  start->addIncoming(leaf_end, keep);
  count->addIncoming(next_count, keep);
  ir_.CreateBr(next_leaf);
  ir_.SetInsertPoint(done);
  return accs_.blocks(loop, joined);
}

// Leaves from `start` on, step by step in turn, joined pairwise.
AllStates Folds::joined_leaves(const Place &here, const block::Run &run, llvm::Value *start) {
  const Loop &loop = program_[run.loop];
  const int leaves = run.whole().positions();
  if (run.whole().count(block::As::Lanes) > 1) {
    context_.took(Path::LeavesInLanes);
    accs_.set_running(loop, this->start(here, loop, false));
    walk_.turn(context_.lanes_of(here, loop, leaves), run.whole(), run.loop, start);
    AllStates joined;
    for (const AccId acc : loop.accs) joined.push_back(accs_.join_neighbours(acc, accs_[acc].now));
    return joined;
  }
  llvm::Value *stop = ir_.CreateNSWAdd(start, context_.number(loop.leaf));
  Blocks blocks(static_cast<std::size_t>(leaves), this->start(here, loop, false));
  blocks = steps(here, run, run.whole(), {start, stop}, 1, blocks, loop.leaf, {}, true);
  tree::pair(leaves, [&](int into, int from) {
    AllStates &block = blocks[std::size_t(into)];
    block = accs_.join(loop, block, blocks[std::size_t(from)]);
  });
  return blocks[0];
}

// All groups of so many leaves but for one that ends the range, each put on the stack like a leaf,
// some levels up. Gives the position and the number of leaves reached.
std::pair<llvm::Value *, llvm::Value *> Folds::groups_of_leaves(const Place &here,
                                                                const block::Run &run, Range range,
                                                                const Accumulators::Slots &stacks) {
  const Loop &loop = program_[run.loop];
  const int leaves = run.whole().positions();
  const std::int64_t positions = leaves * loop.leaf;
  llvm::Value *one = ir_.getInt64(1);
  llvm::Value *count = context_.greatest(
      ir_.getInt64(0),
      ir_.CreateAShr(ir_.CreateSub(ir_.CreateSub(range.end, range.begin), one),
                     static_cast<std::uint64_t>(std::countr_zero(std::uint64_t(positions)))));
  llvm::Value *bottom = context_.number(std::countr_zero(unsigned(leaves)));
  context_.each({ir_.getInt64(0), count}, 1, [&](llvm::Value *group) {
    llvm::Value *start =
        ir_.CreateAdd(range.begin, ir_.CreateMul(group, context_.number(positions)));
    context_.took(Path::LeavesTogether);
    const AllStates fresh = joined_leaves(here, run, start);
    llvm::Value *carries =
        ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, ir_.CreateNot(group), ir_.getTrue());
    llvm::Value *top = ir_.CreateAdd(bottom, carries);
    const auto join = [&](llvm::Value *level, Blocks &now) {
      now[0] = accs_.join(loop, accs_.load(loop, stacks, level).front(), now[0]);
    };
    accs_.store(stacks, top, flat(accs_.counted_loop(loop, {bottom, top}, 1, {fresh}, join)));
  });
  llvm::Value *reached =
      ir_.CreateAdd(range.begin, ir_.CreateMul(count, context_.number(positions)));
  return {reached, ir_.CreateMul(count, context_.number(leaves))};
}

} // namespace broadloom::jit
