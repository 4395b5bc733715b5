// Lanes that do not lie side by side.
//
// Problem: each lane's element is loaded or stored by itself, by gathers where the machine has them, which take about a
// cycle for each lane. Views such as a[::2], one channel of an image, or a reversed axis lie almost side by side.
// Method: where the step is one of a few small ones, the vectors from the first lane's element to the last one's are
// loaded and the lanes picked from these. The bytes between two elements are read and dropped: they lie on pages that are
// read in any case.
//
//   step 3, 4 lanes   a0 .. .. a1 | .. .. a2 .. | .. a2 .. .. a3   the last vector ends with the last element
#include "jit/emit/phase.hpp"

#include "block/rules.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <cstdlib>

namespace broadloom::jit {

using namespace loop;

// <W x ptr>: where each lane's element is, the first one's being `base`.
llvm::Value *PhaseEmitter::lane_addresses(BufferId id, llvm::Value *base) {
  std::vector<std::uint64_t> numbers;
  for (int k = 0; k < width_; ++k) numbers.push_back(static_cast<std::uint64_t>(k));
  llvm::Value *steps = lanes_.splat(step_bytes(id, vector_->axis), width_);
  llvm::Value *distances =
      ir_.CreateMul(steps, llvm::ConstantDataVector::get(ir_.getContext(), numbers));
  return address(base, distances);
}

// `dtype` at `base` for the first lane: an element of the buffer, or a part of one.
llvm::Value *PhaseEmitter::load_strided(const block::Access &access, llvm::Value *base,
                                        DType dtype) {
  if (access.move != block::Move::Window) return load_apart(access.buffer, base, dtype);
  const int step = block::window_step(program_[access.buffer], vector_->axis);
  took(step == 2   ? Path::LoadStep2
       : step == 3 ? Path::LoadStep3
       : step == 4 ? Path::LoadStep4
                   : Path::LoadReversed);
  return pick_lanes(base, dtype, step);
}

llvm::Value *PhaseEmitter::pick_lanes(llvm::Value *base, DType dtype, int step) {
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const int lanes = std::min(width_, static_cast<int>(target_.vector_bits / 8 / size)); // at a time
  const int span = (lanes - 1) * std::abs(step) + 1;
  const int lowest = std::min(0, (lanes - 1) * step);
  llvm::Type *scalar = lanes_.memory_type(dtype), *type = lanes_.widen(scalar, lanes);
  Values groups;
  for (int first = 0; first < width_; first += lanes) {
    llvm::Value *picked = nullptr;
    for (int done = 0; done < span; done += lanes) {
      const int start = std::min(done, span - lanes); // all before `done` is there already
      llvm::Value *there = ir_.CreateConstGEP1_64(
          scalar, base, static_cast<std::uint64_t>(first * step + lowest + start));
      llvm::Value *loaded = ir_.CreateAlignedLoad(type, there, llvm::Align(std::uint64_t(size)));
      std::vector<int> from;
      for (int k = 0; k < lanes; ++k) {
        const int place = k * step - lowest;
        from.push_back(place < done ? k : lanes + place - start);
        if (place >= done + lanes) from.back() = k; // a later vector has it
      }
      picked = ir_.CreateShuffleVector(picked != nullptr ? picked : loaded, loaded, from);
    }
    groups.push_back(picked);
  }
  return lanes_.joined(groups);
}

llvm::Value *PhaseEmitter::load_apart(BufferId id, llvm::Value *base, DType dtype) {
  took(mask_ == nullptr ? Path::LoadApart : Path::LoadApartMasked);
  const llvm::Align align(size_of(dtype));
  llvm::Type *scalar = lanes_.memory_type(dtype);
  llvm::Type *type = lanes_.widen(scalar, width_);
  llvm::Constant *zero = llvm::Constant::getNullValue(type);
  llvm::Value *step = step_bytes(id, vector_->axis);
  if (machine_.has_gather(size_of(dtype))) {
    llvm::Value *mask = mask_ != nullptr ? mask_ : lanes_.literal(DType::Bool, {1}, width_);
    return ir_.CreateMaskedGather(type, lane_addresses(id, base), align, mask, zero);
  }
  if (mask_ == nullptr) {
    llvm::Value *result = llvm::PoisonValue::get(type);
    for (int k = 0; k < width_; ++k) {
      const auto lane = static_cast<std::uint64_t>(k);
      llvm::Value *there = address(base, ir_.CreateMul(step, ir_.getInt64(lane)));
      result = ir_.CreateInsertElement(result, ir_.CreateAlignedLoad(scalar, there, align), lane);
    }
    return result;
  }
  llvm::AllocaInst *room = lanes_.room(type);
  ir_.CreateStore(zero, room);
  lanes_.counted_loop(ir_.getInt64(0), active_, 1, {}, [&](llvm::Value *lane, Values) {
    llvm::Value *there = address(base, ir_.CreateMul(step, lane));
    ir_.CreateStore(ir_.CreateAlignedLoad(scalar, there, align), ir_.CreateGEP(scalar, room, lane));
    return Values{};
  });
  return ir_.CreateLoad(type, room);
}

void PhaseEmitter::store_strided(BufferId id, llvm::Value *value, llvm::Value *base, DType dtype) {
  took(mask_ == nullptr ? Path::StoreApart : Path::StoreApartMasked);
  const llvm::Align align(size_of(dtype));
  llvm::Value *step = step_bytes(id, vector_->axis);
  if (machine_.has_gather(size_of(dtype))) {
    ir_.CreateMaskedScatter(value, lane_addresses(id, base), align, mask_);
    return;
  }
  if (mask_ == nullptr) {
    for (int k = 0; k < width_; ++k) {
      const auto lane = static_cast<std::uint64_t>(k);
      llvm::Value *there = address(base, ir_.CreateMul(step, ir_.getInt64(lane)));
      ir_.CreateAlignedStore(ir_.CreateExtractElement(value, lane), there, align);
    }
    return;
  }
  llvm::AllocaInst *room = lanes_.room(value->getType());
  ir_.CreateStore(value, room);
  llvm::Type *scalar = lanes_.memory_type(dtype);
  lanes_.counted_loop(ir_.getInt64(0), active_, 1, {}, [&](llvm::Value *lane, Values) {
    llvm::Value *element = ir_.CreateLoad(scalar, ir_.CreateGEP(scalar, room, lane));
    ir_.CreateAlignedStore(element, address(base, ir_.CreateMul(step, lane)), align);
    return Values{};
  });
}

} // namespace broadloom::jit
