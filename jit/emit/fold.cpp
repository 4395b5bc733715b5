// Loops with accumulators: the fixed tree of loop.hpp, whatever the width of the vectors.
//
// Problem: a row of x summed in 32 lanes, leaves of 4096 positions, must give the same bits with 16
// lanes to a register as with 4, and be as fast as the hardware adds.
// Method: position p of a leaf belongs to lane p % 32, so U = 32 / W vectors of W lanes are kept
// and the body is emitted U times, once for each vector; or, for a heavy body, once with the
// vectors changing places after each step. The rest of a leaf runs masked. Lanes are joined by
// halving. Leaves are joined as a binary counter carries: after leaf number n (from 0), as many
// finished neighbours on a small stack are joined to it as n has low one bits.
// Example: leaves a b c: a is put on level 0; b meets a: (a b) on level 1; c on level 0; at the end
// c, the odd last one, is carried up: ((a b) c).
#include "jit/emit/phase.hpp"

#include "support/check.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <numeric>

namespace broadloom::jit {

using namespace loop;

namespace {
constexpr int cascade_levels = 48; // more leaves than a process has addresses
} // namespace

llvm::Value *PhaseEmitter::identity(AccId acc, int width) {
  const Acc &a = program_[acc];
  return lanes_.literal(a.dtype, ops::identity(a.fold, a.dtype).bits, width);
}

llvm::Value *PhaseEmitter::join(AccId acc, llvm::Value *left, llvm::Value *right) {
  const Acc &a = program_[acc];
  return lanes_.op(ops::info(a.fold).step, a.dtype, {left, right});
}

void PhaseEmitter::step(AccId acc, llvm::Value *value) {
  llvm::Value *&now = accs_[acc.index];
  llvm::Value *next = join(acc, now, lanes_.splat(value, Lanes::width(now)));
  const bool across_lanes =
      vector_ != nullptr &&
      std::find(vector_->accs.begin(), vector_->accs.end(), acc) != vector_->accs.end();
  now = mask_ != nullptr && across_lanes ? ir_.CreateSelect(mask_, next, now) : next;
}

void PhaseEmitter::fold(LoopId id, llvm::Value *begin, llvm::Value *end) {
  const Loop &loop = program_[id];
  const Values joined = loop.leaf == 0 ? leaf(id, begin, end) : cascade(id, begin, end);
  for (std::size_t k = 0; k < joined.size(); ++k) accs_[loop.accs[k].index] = joined[k];
}

PhaseEmitter::Values PhaseEmitter::leaf(LoopId id, llvm::Value *begin, llvm::Value *end) {
  return runs_as_vector(program_, program_[id]) ? vector_leaf(id, begin, end)
                                                : serial_leaf(id, begin, end);
}

PhaseEmitter::Values PhaseEmitter::serial_leaf(LoopId id, llvm::Value *begin, llvm::Value *end) {
  const Loop &loop = program_[id];
  const Values outer = at_;
  Values start;
  for (const AccId acc : loop.accs) {
    start.push_back(identity(acc, survey_.acc_varies[acc.index] ? width_ : 1));
  }
  const Values result =
      lanes_.counted_loop(begin, end, 1, start, [&](llvm::Value *position, Values now) {
        for (std::size_t k = 0; k < now.size(); ++k) accs_[loop.accs[k].index] = now[k];
        turn(id, outer, position);
        for (std::size_t k = 0; k < now.size(); ++k) now[k] = accs_[loop.accs[k].index];
        return now;
      });
  at_ = outer;
  return result;
}

PhaseEmitter::Values PhaseEmitter::vector_leaf(LoopId id, llvm::Value *begin, llvm::Value *end) {
  const Loop &loop = program_[id];
  const Survey::LoopFacts &facts = survey_.loops[id.index];
  const int width = base_width(id);
  const std::size_t copies = static_cast<std::size_t>(fold_lanes / width);
  const Values outer = at_;
  Values lanes; // of accumulator 0, of accumulator 1, ..
  for (const AccId acc : loop.accs) {
    for (std::size_t u = 0; u < copies; ++u) lanes.push_back(identity(acc, width));
  }
  llvm::Value *rest = begin;
  if (!facts.costly && !facts.inner_loops) {
    rest = whole(begin, end, fold_lanes);
    set_lanes(&loop, width);
    lanes =
        lanes_.counted_loop(begin, rest, fold_lanes, lanes, [&](llvm::Value *position, Values now) {
          for (std::size_t u = 0; u < copies; ++u) {
            for (std::size_t k = 0; k < loop.accs.size(); ++k) {
              accs_[loop.accs[k].index] = now[k * copies + u];
            }
            turn(id, outer, position, static_cast<std::int64_t>(u) * width);
            for (std::size_t k = 0; k < loop.accs.size(); ++k) {
              now[k * copies + u] = accs_[loop.accs[k].index];
            }
          }
          return now;
        });
  }
  // Up to the next multiple of 32, so that every vector is back in its place.
  llvm::Value *stop = whole(rest, ir_.CreateAdd(end, ir_.getInt64(fold_lanes - 1)), fold_lanes);
  lanes = masked_steps(id, outer, rest, stop, end, std::move(lanes));
  set_lanes(nullptr, 1);
  at_ = outer;

  Values result;
  for (std::size_t k = 0; k < loop.accs.size(); ++k) {
    const auto first = lanes.begin() + static_cast<std::ptrdiff_t>(k * copies);
    result.push_back(
        join_lanes(loop.accs[k], Values(first, first + static_cast<std::ptrdiff_t>(copies))));
  }
  return result;
}

// Steps of one vector each from `begin` to `stop`, of which positions below `end` count. The vector
// that stepped goes to the back of the row, so the one that is next is always the first.
PhaseEmitter::Values PhaseEmitter::masked_steps(LoopId id, const Values &outer, llvm::Value *begin,
                                                llvm::Value *stop, llvm::Value *end, Values lanes) {
  const Loop &loop = program_[id];
  const int width = base_width(id);
  const std::size_t copies = static_cast<std::size_t>(fold_lanes / width);
  return lanes_.counted_loop(
      begin, stop, width, std::move(lanes), [&](llvm::Value *position, Values now) {
        llvm::Value *left = ir_.CreateSub(end, position);
        llvm::Value *active = ir_.CreateBinaryIntrinsic(
            llvm::Intrinsic::smin, left, ir_.getInt64(static_cast<std::uint64_t>(width)));
        // Where no lane is active, addresses are those of the last position: inside the array.
        llvm::Value *inside = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, position,
                                                        ir_.CreateSub(end, ir_.getInt64(1)));
        set_lanes(&loop, width, active);
        for (std::size_t k = 0; k < loop.accs.size(); ++k) {
          accs_[loop.accs[k].index] = now[k * copies];
        }
        turn(id, outer, inside);
        for (std::size_t k = 0; k < loop.accs.size(); ++k) {
          const auto first = now.begin() + static_cast<std::ptrdiff_t>(k * copies);
          *first = accs_[loop.accs[k].index];
          std::rotate(first, first + 1, first + static_cast<std::ptrdiff_t>(copies));
        }
        return now;
      });
}

// Lane l with lane l + 16, then with lane l + 8, .. down to one.
llvm::Value *PhaseEmitter::join_lanes(AccId acc, Values lanes) {
  while (lanes.size() > 1) {
    const std::size_t half = lanes.size() / 2;
    for (std::size_t k = 0; k < half; ++k) lanes[k] = join(acc, lanes[k], lanes[k + half]);
    lanes.resize(half);
  }
  llvm::Value *vector = lanes.front();
  for (int half = Lanes::width(vector) / 2; half >= 1; half /= 2) {
    std::vector<int> low(static_cast<std::size_t>(half));
    std::iota(low.begin(), low.end(), 0);
    std::vector<int> high = low;
    for (int &lane : high) lane += half;
    if (half == 1) {
      vector = join(acc, ir_.CreateExtractElement(vector, std::uint64_t{0}),
                    ir_.CreateExtractElement(vector, std::uint64_t{1}));
    } else {
      vector =
          join(acc, ir_.CreateShuffleVector(vector, low), ir_.CreateShuffleVector(vector, high));
    }
  }
  return vector;
}

//   start = begin, count = 0
//   do  joined = leaf(start .. min(start + leaf, end))
//       for level = 0, bits = count; more leaves ? bits is odd : bits != 0; level += 1, bits /= 2
//         if bits is odd: joined = stack[level] (+) joined
//       if no more leaves: done
//       stack[level] = joined, count += 1, start += leaf
//
// A range of a single leaf passes straight through.
PhaseEmitter::Values PhaseEmitter::cascade(LoopId id, llvm::Value *begin, llvm::Value *end) {
  const Loop &loop = program_[id];
  const auto block = [&](const char *name) {
    return llvm::BasicBlock::Create(ir_.getContext(), name, function_);
  };
  llvm::Type *i64 = ir_.getInt64Ty();
  llvm::BasicBlock *before = ir_.GetInsertBlock();
  llvm::BasicBlock *next_leaf = block("leaf"), *level_head = block("level");
  llvm::BasicBlock *carry = block("carry"), *carried = block("carried");
  llvm::BasicBlock *keep = block("keep"), *done = block("joined");
  ir_.CreateBr(next_leaf);

  ir_.SetInsertPoint(next_leaf);
  llvm::PHINode *start = ir_.CreatePHI(i64, 2);
  llvm::PHINode *count = ir_.CreatePHI(i64, 2);
  start->addIncoming(begin, before);
  count->addIncoming(ir_.getInt64(0), before);
  llvm::Value *leaf_end = ir_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, end,
      ir_.CreateAdd(start, ir_.getInt64(static_cast<std::uint64_t>(loop.leaf))));
  const Values fresh = leaf(id, start, leaf_end);
  llvm::Value *more = ir_.CreateICmpSLT(leaf_end, end);
  llvm::BasicBlock *leaf_done = ir_.GetInsertBlock();
  std::vector<llvm::AllocaInst *> stacks;
  for (llvm::Value *value : fresh) stacks.push_back(lanes_.room(value->getType(), cascade_levels));
  ir_.CreateBr(level_head);

  ir_.SetInsertPoint(level_head);
  llvm::PHINode *level = ir_.CreatePHI(i64, 2);
  llvm::PHINode *bits = ir_.CreatePHI(i64, 2);
  level->addIncoming(ir_.getInt64(0), leaf_done);
  bits->addIncoming(count, leaf_done);
  Values joined;
  for (llvm::Value *value : fresh) {
    llvm::PHINode *phi = ir_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, leaf_done);
    joined.push_back(phi);
  }
  llvm::Value *odd = ir_.CreateTrunc(bits, ir_.getInt1Ty());
  llvm::Value *any = ir_.CreateICmpNE(bits, ir_.getInt64(0));
  ir_.CreateCondBr(ir_.CreateSelect(more, odd, any), carry, carried);

  ir_.SetInsertPoint(carry);
  level->addIncoming(ir_.CreateAdd(level, ir_.getInt64(1)), carry);
  bits->addIncoming(ir_.CreateLShr(bits, ir_.getInt64(1)), carry);
  for (std::size_t k = 0; k < joined.size(); ++k) {
    llvm::Type *type = joined[k]->getType();
    llvm::Value *left = ir_.CreateLoad(type, ir_.CreateGEP(type, stacks[k], level));
    llvm::Value *both = join(loop.accs[k], left, joined[k]);
    llvm::cast<llvm::PHINode>(joined[k])->addIncoming(ir_.CreateSelect(odd, both, joined[k]),
                                                      carry);
  }
  ir_.CreateBr(level_head);

  ir_.SetInsertPoint(carried);
  ir_.CreateCondBr(more, keep, done);
  ir_.SetInsertPoint(keep);
  for (std::size_t k = 0; k < joined.size(); ++k) {
    ir_.CreateStore(joined[k], ir_.CreateGEP(joined[k]->getType(), stacks[k], level));
  }
  start->addIncoming(leaf_end, keep);
  count->addIncoming(ir_.CreateAdd(count, ir_.getInt64(1)), keep);
  ir_.CreateBr(next_leaf);
  ir_.SetInsertPoint(done);
  return joined;
}

} // namespace broadloom::jit
