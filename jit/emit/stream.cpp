// The alignment of rows that are stored around the caches: non-temporal stores must be aligned, which depends on the memory that is
// given.
#include "jit/emit/memory.hpp"

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

// In the order of the statements.
std::vector<BufferId> Memory::streamed(const block::Box &box) {
  std::vector<BufferId> buffers;
  for (const block::Access &access : box.accesses)
    if (access.move == block::Move::Streamed) buffers.push_back(access.buffer);
  return buffers;
}

// Of a group of `width` elements: a register, or less where the group is.
std::size_t Memory::stream_alignment(BufferId id, int width) const {
  return std::min(static_cast<std::size_t>(context_.target.vector_bits) / 8,
                  size_of(program_[id].dtype) * static_cast<std::size_t>(width));
}

// By how many bytes the element at this position is off the alignment of such a store.
llvm::Value *Memory::misaligned(const Place &here, BufferId id, llvm::Value *position, int width) {
  llvm::Value *start = ir_.CreatePtrToInt(here.at[id.index], ir_.getInt64Ty());
  llvm::Value *size = ir_.getInt64(size_of(program_[id].dtype));
  llvm::Value *there = ir_.CreateAdd(start, ir_.CreateMul(position, size));
  return ir_.CreateAnd(there, ir_.getInt64(stream_alignment(id, width) - 1));
}

// The same of several: 0 where all of them are aligned.
llvm::Value *Memory::misaligned(const Place &here, const std::vector<BufferId> &buffers,
                                llvm::Value *position, int width) {
  llvm::Value *wrong = ir_.getInt64(0);
  for (const BufferId buffer : buffers)
    wrong = ir_.CreateOr(wrong, misaligned(here, buffer, position, width));
  return wrong;
}

} // namespace broadloom::jit
