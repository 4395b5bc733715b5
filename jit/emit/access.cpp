// Loads and stores at the current position, exact to the byte.
//
// Along the vector axis a buffer may stand still (a scalar load), move by one element (a vector
// load) or by any other distance (strided.cpp). In a partial group only the active lanes are touched:
// by masked instructions where the machine has them, else one by one through a vector on the stack.
#include "jit/emit/phase.hpp"

#include "support/check.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>

#include <algorithm>

namespace broadloom::jit {

using namespace loop;

const Walk *PhaseEmitter::walk(BufferId id, AxisId axis) const {
  return block::walk(program_, id, axis);
}

llvm::Value *PhaseEmitter::step_bytes(BufferId id, AxisId axis) const {
  return strides_[id.index * program_.axes.size() + axis.index];
}

llvm::Value *PhaseEmitter::address(llvm::Value *base, llvm::Value *bytes) {
  return ir_.CreateGEP(ir_.getInt8Ty(), base, bytes);
}

llvm::Value *PhaseEmitter::load(BufferId id) {
  if (rows_ != nullptr) return load_rows(id);
  if (!held_.empty() && held_[id.index] != nullptr) return held_[id.index];
  const DType dtype = program_[id].dtype;
  const block::Access &access = box_->access(id, false);
  if (access.move == block::Move::Stack) {
    llvm::Type *type = row_rooms_[id.index]->getAllocatedType();
    return ir_.CreateLoad(type, row_of_lanes(id, type));
  }
  if (access.prefetch.lines && access.move != block::Move::Transposed) read_ahead(id);
  if (is_complex(dtype)) return load_complex(access);
  llvm::Value *raw = load_lanes(access);
  if (dtype != DType::Bool) return raw;
  return ir_.CreateICmpNE(raw, llvm::Constant::getNullValue(raw->getType()));
}

// Asks for the cache lines that come next in memory, which later turns of some loop around will load.
//
// Memory answers some hundred cycles after it was asked, so speed is the number of lines asked for at a time. The
// processor looks ahead by itself until its scheduler is full of operations that wait for loads: sums of f32 in f64
// fill it with eight of them for a line. Two distances, measured over 64 MB on Sapphire Rapids with two threads: near
// ones into the first cache, and far ones, which make the second cache's own prefetcher go on to the next page. GB/s of a
// sum without, with the near, the far, and both: 17, 23, 27, 31.
void PhaseEmitter::read_ahead(BufferId id) {
  const auto size = static_cast<std::int64_t>(size_of(program_[id].dtype));
  const std::int64_t bytes = size * width_;
  if (bytes < line_bytes && offset_ * size % line_bytes != 0)
    return; // a copy of the body before has asked
  took(Path::ReadAhead);
  ask_ahead(at_[id.index], bytes);
}

// For what follows these bytes, in the direction of the loop.
void PhaseEmitter::ask_ahead(llvm::Value *first, std::int64_t bytes) {
  constexpr std::int64_t near = 1024, far = 8192;
  const std::int64_t direction = vector_->reverse ? -1 : 1;
  const auto ask = [&](std::int64_t distance, unsigned locality) {
    for (std::int64_t k = 0; k < std::max<std::int64_t>(1, bytes / line_bytes); ++k)
      prefetch(
          ir_.CreateConstGEP1_64(ir_.getInt8Ty(), first,
                                 static_cast<std::uint64_t>(direction * distance + k * line_bytes)),
          locality);
  };
  ask(near, 3);
  ask(far, 1);
}

// For reading; localities as LLVM counts them: 3 into the first cache, 2 the second, 1 the second where it is larger.
void PhaseEmitter::prefetch(llvm::Value *there, unsigned locality) {
  ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
                      {there, ir_.getInt32(0), ir_.getInt32(locality), ir_.getInt32(1)});
}

void PhaseEmitter::store(BufferId id, llvm::Value *value) {
  if (rows_ != nullptr) return store_rows(id, value);
  const DType dtype = program_[id].dtype;
  const block::Access &access = box_->access(id, true);
  if (access.move == block::Move::Stack) {
    value = lanes_.splat(value, width_);
    ir_.CreateStore(value, row_of_lanes(id, value->getType()));
    return;
  }
  const bool lanes = access.move != block::Move::Scalar;
  if (lanes) value = lanes_.splat(value, width_);
  support::check(lanes || Lanes::width(value) == 1, "lanes are stored to one place");
  if (access.move == block::Move::Held) {
    held_[id.index] = value;
    if (!last_row_) return;
  }
  if (is_complex(dtype)) return store_complex(access, value);
  if (dtype == DType::Bool) {
    value = ir_.CreateZExt(value, lanes_.widen(ir_.getInt8Ty(), Lanes::width(value)));
  }
  store_lanes(access, value);
}

llvm::Value *PhaseEmitter::load_lanes(const block::Access &access) {
  using block::Move;
  const BufferId id = access.buffer;
  const DType dtype = program_[id].dtype;
  const llvm::Align align(size_of(dtype));
  llvm::Type *scalar = lanes_.memory_type(dtype), *type = lanes_.widen(scalar, width_);
  switch (access.move) {
  case Move::Scalar: return ir_.CreateAlignedLoad(scalar, at_[id.index], align);
  case Move::Row:
    if (mask_ == nullptr) return ir_.CreateAlignedLoad(type, at_[id.index], align);
    return ir_.CreateMaskedLoad(type, at_[id.index], align, mask_,
                                llvm::Constant::getNullValue(type));
  case Move::Transposed: return tile_ != nullptr ? load_from_tile(id) : column(id);
  case Move::Window:
  case Move::Gather:
  case Move::Single: return load_strided(access, at_[id.index], dtype);
  case Move::Streamed:
  case Move::Held:
  case Move::Stack: break;
  }
  support::bug("a load that is none of lanes");
}

void PhaseEmitter::store_lanes(const block::Access &access, llvm::Value *value) {
  using block::Move;
  const BufferId id = access.buffer;
  const std::size_t size = size_of(program_[id].dtype);
  switch (access.move) {
  case Move::Scalar: ir_.CreateAlignedStore(value, at_[id.index], llvm::Align(size)); return;
  case Move::Row:
  case Move::Streamed:
  case Move::Held:
    if (mask_ == nullptr)
      store_row(access, value, size);
    else if (!machine_.has_masked_move(size)) // of what is held: a row has been looked at already
      store_strided(id, value, at_[id.index], program_[id].dtype);
    else
      ir_.CreateMaskedStore(value, at_[id.index], llvm::Align(size), mask_);
    return;
  case Move::Transposed: keep_column(id, value); return;
  case Move::Gather:
  case Move::Single: store_strided(id, value, at_[id.index], program_[id].dtype); return;
  case Move::Window:
  case Move::Stack: break;
  }
  support::bug("a store that is none of lanes");
}

// All of a group's elements at once, in one piece; non-temporal where that is wanted.
void PhaseEmitter::store_row(const block::Access &access, llvm::Value *row, std::size_t alignment) {
  const BufferId id = access.buffer;
  const bool around = aligned_stream_ && access.move == block::Move::Streamed;
  if (around) alignment = stream_alignment(id, width_);
  llvm::StoreInst *stored = ir_.CreateAlignedStore(row, at_[id.index], llvm::Align(alignment));
  if (around) {
    stored->setMetadata(
        llvm::LLVMContext::MD_nontemporal,
        llvm::MDNode::get(ir_.getContext(), {llvm::ConstantAsMetadata::get(ir_.getInt32(1))}));
  }
}

} // namespace broadloom::jit
