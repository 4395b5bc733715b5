// Stores around the caches.
//
// Problem: an output larger than the caches would push out what is still to be read, and a plain store reads each line
// first; stores that go around the caches must be aligned, which depends on the memory that is given.
// Method: the code stands twice, once with such stores for where all of them are aligned, and once with plain ones.
#include "jit/emit/phase.hpp"

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

// In the order of the statements.
std::vector<BufferId> PhaseEmitter::streamed(const block::Box &box) {
  std::vector<BufferId> buffers;
  for (const block::Access &access : box.accesses)
    if (access.move == block::Move::Streamed) buffers.push_back(access.buffer);
  return buffers;
}

// Of a group of `width` elements: a register, or less where the group is.
std::size_t PhaseEmitter::stream_alignment(BufferId id, int width) const {
  return std::min(static_cast<std::size_t>(target_.vector_bits) / 8,
                  size_of(program_[id].dtype) * static_cast<std::size_t>(width));
}

// By how many bytes the element at this position is off the alignment of such a store.
llvm::Value *PhaseEmitter::misaligned(BufferId id, llvm::Value *position, int width) {
  llvm::Value *start = ir_.CreatePtrToInt(at_[id.index], ir_.getInt64Ty());
  llvm::Value *size = ir_.getInt64(size_of(program_[id].dtype));
  llvm::Value *here = ir_.CreateAdd(start, ir_.CreateMul(position, size));
  return ir_.CreateAnd(here, ir_.getInt64(stream_alignment(id, width) - 1));
}

// The same of several: 0 where all of them are aligned.
llvm::Value *PhaseEmitter::misaligned(const std::vector<BufferId> &buffers, llvm::Value *position,
                                      int width) {
  llvm::Value *wrong = ir_.getInt64(0);
  for (const BufferId buffer : buffers)
    wrong = ir_.CreateOr(wrong, misaligned(buffer, position, width));
  return wrong;
}

// What `run` gives, which stands twice: with stores around the caches for where nothing is `wrong`, and with plain ones.
PhaseEmitter::Values PhaseEmitter::around_caches(llvm::Value *wrong,
                                                 llvm::function_ref<Values()> run) {
  return lanes_.either(
      ir_.CreateICmpEQ(wrong, ir_.getInt64(0)),
      [&] {
        aligned_stream_ = streamed_ = true;
        const Values around = run();
        aligned_stream_ = false;
        return around;
      },
      run);
}

// A loop whose stores must be aligned:
//
//   begin: a partial group up to the first aligned address of the first stream
//   middle: whole groups, with such stores where now all streams are aligned, else with plain ones
//   end:   a partial group
//
// Both partial groups are one piece of code, in a loop of at most three turns: p is the position,
// and count the size of the partial group to run next (0: whole groups).
void PhaseEmitter::streaming_map(const block::Run &run, llvm::Value *begin, llvm::Value *end) {
  const int width = run.whole().positions();
  const std::vector<BufferId> buffers = streamed(run.whole());
  const std::size_t size = size_of(program_[buffers[0]].dtype);
  llvm::Value *short_of = ir_.CreateAnd(ir_.CreateNeg(misaligned(buffers[0], begin, width)),
                                        ir_.getInt64(stream_alignment(buffers[0], width) - 1));
  llvm::Value *head =
      ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateUDiv(short_of, ir_.getInt64(size)),
                                ir_.CreateSub(end, begin));

  const auto block = [&](const char *name) {
    return llvm::BasicBlock::Create(ir_.getContext(), name, function_);
  };
  llvm::BasicBlock *before = ir_.GetInsertBlock();
  llvm::BasicBlock *next = block("stream"), *part = block("part"), *middle = block("middle");
  llvm::BasicBlock *latch = block("latch"), *after = block("after");
  ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), next, after);

  ir_.SetInsertPoint(next);
  llvm::PHINode *position = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  llvm::PHINode *count = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  position->addIncoming(begin, before);
  count->addIncoming(head, before);
  ir_.CreateCondBr(ir_.CreateICmpSGT(count, ir_.getInt64(0)), part, middle);

  const Values outer = at_;
  ir_.SetInsertPoint(part);
  took(Path::StreamHead);
  partial_block(run, run.rest(), outer, position, count);
  at_ = outer;
  llvm::Value *after_part = ir_.CreateAdd(position, count);
  llvm::BasicBlock *part_end = ir_.GetInsertBlock();
  ir_.CreateBr(latch);

  ir_.SetInsertPoint(middle);
  llvm::Value *rest = whole(position, end, width);
  around_caches(misaligned(buffers, position, width), [&] {
    whole_blocks(run, position, rest);
    return Values{};
  });
  llvm::BasicBlock *done = ir_.GetInsertBlock();
  llvm::Value *remaining = ir_.CreateSub(end, rest);
  ir_.CreateBr(latch);

  ir_.SetInsertPoint(latch);
  llvm::PHINode *next_position = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  llvm::PHINode *next_count = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  next_position->addIncoming(after_part, part_end);
  next_count->addIncoming(ir_.getInt64(0), part_end);
  next_position->addIncoming(rest, done);
  next_count->addIncoming(remaining, done);
  position->addIncoming(next_position, latch);
  count->addIncoming(next_count, latch);
  ir_.CreateCondBr(ir_.CreateICmpSLT(next_position, end), next, after);
  ir_.SetInsertPoint(after);
}

} // namespace broadloom::jit
