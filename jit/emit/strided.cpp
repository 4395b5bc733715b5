// Lanes that do not lie side by side.
//
// Problem: each lane's element is loaded or stored by itself, by gathers where the machine has them, which take about a
// cycle for each lane. Views such as a[::2], one channel of an image, or a reversed axis lie almost side by side.
// Method: where the step is one of a few small ones, the vectors from the first lane's element to the last one's are
// loaded and the lanes picked from these. The bytes between two elements are read and dropped: they lie on pages that are
// read in any case.
//
//   step 3, 4 lanes   a0 .. .. a1 | .. .. a2 .. | .. a2 .. .. a3   the last vector ends with the last element
#include "jit/emit/memory.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <cstdlib>

namespace broadloom::jit {

using namespace loop;

Memory::Apart Memory::apart(const Row &row, llvm::Value *base, DType dtype) const {
  return {row.group, base, context_.step_bytes(row.access.buffer, row.group.loop->axis), dtype};
}

// <W x ptr>: where the number of each lane is.
llvm::Value *Memory::lane_addresses(const Apart &of) {
  std::vector<std::uint64_t> numbers;
  for (int k = 0; k < of.group.width; ++k) numbers.push_back(static_cast<std::uint64_t>(k));
  llvm::Value *distances = ir_.CreateMul(lanes_.splat(of.step, of.group.width),
                                         llvm::ConstantDataVector::get(ir_.getContext(), numbers));
  return context_.address(of.base, distances);
}

llvm::Value *Memory::load_window(const Apart &from, int step) {
  context_.took(step == 2   ? Path::LoadStep2
                : step == 3 ? Path::LoadStep3
                : step == 4 ? Path::LoadStep4
                            : Path::LoadReversed);
  return pick_lanes(from, step);
}

llvm::Value *Memory::pick_lanes(const Apart &from, int step) {
  const auto size = static_cast<std::int64_t>(size_of(from.dtype));
  const int width = from.group.width;
  const int lanes = std::min(width, context_.target.vector_bits / 8 / static_cast<int>(size));
  const int span = (lanes - 1) * std::abs(step) + 1; // of so many lanes at a time
  const int lowest = std::min(0, (lanes - 1) * step);
  llvm::Type *scalar = lanes_.memory_type(from.dtype), *type = lanes_.widen(scalar, lanes);
  Values groups;
  for (int first = 0; first < width; first += lanes) {
    llvm::Value *picked = nullptr;
    for (int done = 0; done < span; done += lanes) {
      const int start = std::min(done, span - lanes); // all before `done` is there already
      llvm::Value *there = ir_.CreateConstGEP1_64(
          scalar, from.base, static_cast<std::uint64_t>(first * step + lowest + start));
      llvm::Value *loaded = ir_.CreateAlignedLoad(type, there, llvm::Align(std::uint64_t(size)));
      std::vector<int> sources;
      for (int k = 0; k < lanes; ++k) {
        const int place = k * step - lowest;
        sources.push_back(place < done ? k : lanes + place - start);
        if (place >= done + lanes) sources.back() = k; // a later vector has it
      }
      picked = ir_.CreateShuffleVector(picked != nullptr ? picked : loaded, loaded, sources);
    }
    groups.push_back(picked);
  }
  return lanes_.joined(groups);
}

llvm::Value *Memory::load_apart(const Apart &from) {
  const auto &[group, base, step, dtype] = from;
  context_.took(group.mask == nullptr ? Path::LoadApart : Path::LoadApartMasked);
  const llvm::Align align(size_of(dtype));
  llvm::Type *scalar = lanes_.memory_type(dtype), *type = lanes_.widen(scalar, group.width);
  llvm::Constant *zero = llvm::Constant::getNullValue(type);
  if (context_.machine.has_gather(size_of(dtype))) {
    llvm::Value *mask =
        group.mask != nullptr ? group.mask : lanes_.literal(DType::Bool, {1}, group.width);
    return ir_.CreateMaskedGather(type, lane_addresses(from), align, mask, zero);
  }
  const auto address = [&](llvm::Value *lane) {
    return context_.address(from.base, ir_.CreateMul(from.step, lane));
  };
  if (group.mask == nullptr) {
    llvm::Value *result = llvm::PoisonValue::get(type);
    for (int k = 0; k < group.width; ++k) {
      llvm::Value *loaded = ir_.CreateAlignedLoad(scalar, address(context_.number(k)), align);
      result = ir_.CreateInsertElement(result, loaded, std::uint64_t(k));
    }
    return result;
  }
  llvm::AllocaInst *room = lanes_.room(type);
  ir_.CreateStore(zero, room);
  lanes_.counted_loop(ir_.getInt64(0), group.active, 1, {}, [&](llvm::Value *lane, Values) {
    llvm::Value *there = address(lane);
    ir_.CreateStore(ir_.CreateAlignedLoad(scalar, there, align), ir_.CreateGEP(scalar, room, lane));
    return Values{};
  });
  return ir_.CreateLoad(type, room);
}

void Memory::store_apart(const Apart &to, llvm::Value *value) {
  const auto &[group, base, step, dtype] = to;
  context_.took(group.mask == nullptr ? Path::StoreApart : Path::StoreApartMasked);
  const llvm::Align align(size_of(dtype));
  if (context_.machine.has_gather(size_of(dtype))) {
    ir_.CreateMaskedScatter(value, lane_addresses(to), align, group.mask);
    return;
  }
  const auto address = [&](llvm::Value *lane) {
    return context_.address(to.base, ir_.CreateMul(to.step, lane));
  };
  if (group.mask == nullptr) {
    for (int k = 0; k < group.width; ++k) {
      llvm::Value *there = address(context_.number(k));
      ir_.CreateAlignedStore(ir_.CreateExtractElement(value, std::uint64_t(k)), there, align);
    }
    return;
  }
  llvm::AllocaInst *room = lanes_.room(value->getType());
  ir_.CreateStore(value, room);
  llvm::Type *scalar = lanes_.memory_type(dtype);
  lanes_.counted_loop(ir_.getInt64(0), group.active, 1, {}, [&](llvm::Value *lane, Values) {
    llvm::Value *element = ir_.CreateLoad(scalar, ir_.CreateGEP(scalar, room, lane));
    ir_.CreateAlignedStore(element, address(lane), align);
    return Values{};
  });
}

} // namespace broadloom::jit
