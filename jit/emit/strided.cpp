// Lanes that do not lie side by side.
//
// Problem: each lane's element is loaded or stored by itself, by gathers where the machine has
// them, which take about a cycle for each lane. Views such as a[::2], one channel of an image, or a
// reversed axis lie almost side by side.
// Method: where the step is one of a few small ones, the vectors from the first lane's element to
// the last one's are loaded and the lanes picked from these. The bytes between two elements are
// read and dropped: they lie on pages that are read in any case.
//
//   step 3, 4 lanes   a0 .. .. a1 | .. .. a2 .. | .. a2 .. .. a3
//       the last vector ends with the last element
#include "jit/emit/memory.hpp"

#include "block/rules.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace broadloom::jit {

using namespace loop;

llvm::Value *Memory::step_of(const Row &row) const {
  return context_.step_bytes(row.access.buffer, row.group.loop->axis);
}

llvm::Value *Memory::address_of(const Row &row, llvm::Value *lane) {
  return context_.address(row.at, ir_.CreateMul(step_of(row), lane));
}

// <W x ptr>: that of each lane.
llvm::Value *Memory::addresses_of(const Row &row) {
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(row.group.width));
  std::iota(numbers.begin(), numbers.end(), 0u);
  llvm::Value *distances = ir_.CreateMul(lanes_.splat(step_of(row), row.group.width),
                                         llvm::ConstantDataVector::get(ir_.getContext(), numbers));
  return context_.address(row.at, distances);
}

llvm::Value *Memory::load_strided(const Row &row) {
  const int step = block::known_step(program_[row.access.buffer], row.group.loop->axis);
  context_.took(step == 2   ? Path::LoadStep2
                : step == 3 ? Path::LoadStep3
                : step == 4 ? Path::LoadStep4
                            : Path::LoadReversed);
  return pick_lanes(row, step);
}

llvm::Value *Memory::pick_lanes(const Row &row, int step) {
  const auto size = static_cast<std::int64_t>(size_of(row.dtype));
  const int width = row.group.width;
  const int lanes = std::min(width, context_.target.vector_bits() / 8 / static_cast<int>(size));
  const int span = (lanes - 1) * std::abs(step) + 1; // of so many lanes at a time
  const int lowest = std::min(0, (lanes - 1) * step);
  llvm::Type *scalar = lanes_.memory_type(row.dtype), *type = lanes_.widen(scalar, lanes);
  Values groups;
  for (int first = 0; first < width; first += lanes) {
    llvm::Value *picked = nullptr;
    for (int done = 0; done < span; done += lanes) {
      const int start = std::min(done, span - lanes); // all before `done` is there already
      llvm::Value *there = ir_.CreateConstGEP1_64(
          scalar, row.at, static_cast<std::uint64_t>(first * step + lowest + start));
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

llvm::Value *Memory::load_apart(const Row &row) {
  const Group &group = row.group;
  context_.took(group.mask == nullptr ? Path::LoadApart : Path::LoadApartMasked);
  const std::size_t size = size_of(row.dtype);
  llvm::Type *scalar = lanes_.memory_type(row.dtype), *type = lanes_.widen(scalar, group.width);
  llvm::Constant *zero = llvm::Constant::getNullValue(type);
  if (context_.machine.has_gather(size)) {
    llvm::Value *mask =
        group.mask != nullptr ? group.mask : lanes_.literal(DType::Bool, {1}, group.width);
    return ir_.CreateMaskedGather(type, addresses_of(row), llvm::Align(size), mask, zero);
  }
  const auto load = [&](llvm::Value *lane) {
    return ir_.CreateAlignedLoad(scalar, address_of(row, lane), llvm::Align(size));
  };
  if (group.mask == nullptr) {
    llvm::Value *result = llvm::PoisonValue::get(type);
    for (int k = 0; k < group.width; ++k)
      result = ir_.CreateInsertElement(result, load(context_.number(k)), std::uint64_t(k));
    return result;
  }
  llvm::AllocaInst *room = lanes_.room(type);
  ir_.CreateStore(zero, room);
  context_.each({ir_.getInt64(0), group.active}, 1, [&](llvm::Value *lane) {
    llvm::Value *element = load(lane);
    ir_.CreateStore(element, ir_.CreateGEP(scalar, room, lane));
  });
  return ir_.CreateLoad(type, room);
}

void Memory::store_apart(const Row &row, llvm::Value *value) {
  const Group &group = row.group;
  context_.took(group.mask == nullptr ? Path::StoreApart : Path::StoreApartMasked);
  const llvm::Align align(size_of(row.dtype));
  if (context_.machine.has_gather(size_of(row.dtype))) {
    ir_.CreateMaskedScatter(value, addresses_of(row), align, group.mask);
    return;
  }
  if (group.mask == nullptr) {
    for (int k = 0; k < group.width; ++k) {
      llvm::Value *there = address_of(row, context_.number(k));
      ir_.CreateAlignedStore(ir_.CreateExtractElement(value, std::uint64_t(k)), there, align);
    }
    return;
  }
  llvm::AllocaInst *room = lanes_.room(value->getType());
  ir_.CreateStore(value, room);
  llvm::Type *scalar = lanes_.memory_type(row.dtype);
  context_.each({ir_.getInt64(0), group.active}, 1, [&](llvm::Value *lane) {
    llvm::Value *element = ir_.CreateLoad(scalar, ir_.CreateGEP(scalar, room, lane));
    ir_.CreateAlignedStore(element, address_of(row, lane), align);
  });
}

} // namespace broadloom::jit
