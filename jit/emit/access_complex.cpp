// Loads and stores of complex numbers, whose parts alternate in memory and lie apart in registers.
//
// A row of W elements is one move of 2 W parts, then one shuffle for either part:
//   re0 im0 re1 im1 ..  <->  re0 re1 ..  and  im0 im1 ..
// Elements that do not lie side by side move part by part.
#include "jit/emit/phase.hpp"

namespace broadloom::jit {

using namespace loop;

// The mask of the lanes, each lane twice.
llvm::Value *PhaseEmitter::mask_of_parts() {
  std::vector<int> twice;
  for (int k = 0; k < 2 * width_; ++k) twice.push_back(k / 2);
  return ir_.CreateShuffleVector(mask_, twice);
}

llvm::Value *PhaseEmitter::load_complex(const block::Access &access) {
  const BufferId id = access.buffer;
  const DType real = real_dtype(program_[id].dtype);
  const llvm::Align align(size_of(real));
  llvm::Type *scalar = lanes_.scalar_type(real);
  llvm::Value *first = at_[id.index], *second = address(first, ir_.getInt64(size_of(real)));
  if (access.move == block::Move::Scalar) {
    return lanes_.pair(ir_.CreateAlignedLoad(scalar, first, align),
                       ir_.CreateAlignedLoad(scalar, second, align));
  }
  if (access.move != block::Move::Row)
    return lanes_.pair(load_strided(access, first, real), load_strided(access, second, real));

  llvm::Type *type = lanes_.widen(scalar, 2 * width_);
  llvm::Value *row = nullptr;
  if (mask_ == nullptr) {
    row = ir_.CreateAlignedLoad(type, first, align);
  } else {
    row = ir_.CreateMaskedLoad(type, first, align, mask_of_parts(),
                               llvm::Constant::getNullValue(type));
  }
  std::vector<int> even, odd;
  for (int k = 0; k < width_; ++k) even.push_back(2 * k), odd.push_back(2 * k + 1);
  return lanes_.pair(ir_.CreateShuffleVector(row, even), ir_.CreateShuffleVector(row, odd));
}

void PhaseEmitter::store_complex(const block::Access &access, llvm::Value *value) {
  const BufferId id = access.buffer;
  const DType real = real_dtype(program_[id].dtype);
  const llvm::Align align(size_of(real));
  llvm::Value *first = at_[id.index], *second = address(first, ir_.getInt64(size_of(real)));
  llvm::Value *re = lanes_.part(value, 0), *im = lanes_.part(value, 1);
  if (access.move == block::Move::Scalar) {
    ir_.CreateAlignedStore(re, first, align);
    ir_.CreateAlignedStore(im, second, align);
    return;
  }
  if (access.move == block::Move::Gather || access.move == block::Move::Single) {
    store_strided(id, re, first, real);
    store_strided(id, im, second, real);
    return;
  }
  std::vector<int> alternating;
  for (int k = 0; k < width_; ++k) alternating.push_back(k), alternating.push_back(width_ + k);
  llvm::Value *row = ir_.CreateShuffleVector(re, im, alternating);
  if (mask_ == nullptr) {
    store_row(access, row, size_of(real));
  } else {
    ir_.CreateMaskedStore(row, first, align, mask_of_parts());
  }
}

} // namespace broadloom::jit
