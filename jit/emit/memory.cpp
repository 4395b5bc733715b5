// Loads and stores, exact to the byte: see memory.hpp.
//
// In a partial group only the lanes that count are touched: by masked instructions where the machine has them, else one by one
// through a vector on the stack. The parts of complex numbers alternate in memory and lie apart in registers, so a row of W elements
// is one move of 2 W parts, and one shuffle for either part:
//   re0 im0 re1 im1 ..  <->  re0 re1 ..  and  im0 im1 ..
#include "jit/emit/memory.hpp"

#include "block/rules.hpp"

#include "support/check.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>

namespace broadloom::jit {

using namespace loop;
using block::Move;

namespace {

// Of elements of two parts, each part of a lane that counts does.
llvm::Value *mask_of(Builder &ir, const Group &group, int parts) {
  if (group.mask == nullptr || parts == 1) return group.mask;
  std::vector<int> lanes;
  for (int k = 0; k < parts * group.width; ++k) lanes.push_back(k / parts);
  return ir.CreateShuffleVector(group.mask, lanes);
}

} // namespace

// The rows of the place; where the buffer does not move along them, all have the same.
void Memory::each_row(const Place &here, const block::Access &access,
                      llvm::function_ref<void(const Row &, int)> move) {
  const BufferId id = access.buffer;
  llvm::Value *first = here.at[id.index];
  const std::optional<AxisId> rows = here.group.rows;
  Group group = here.group;
  group.copies = 1;
  group.rows.reset();
  if (!rows || context_.walk(id, *rows) == nullptr) return move({here, access, group, first}, 0);
  for (int r = 0; r < here.group.copies; ++r) {
    llvm::Value *distance = ir_.CreateMul(context_.step_bytes(id, *rows), context_.number(r));
    move({here, access, group, context_.address(first, distance)}, r);
  }
}

llvm::Value *Memory::load(const Place &here, BufferId id) {
  const block::Access &access = here.box->access(id, false);
  if (here.held != nullptr && (*here.held)[id.index] != nullptr) return (*here.held)[id.index];
  if (access.prefetch.steps) ask_for_steps(here, id);
  Values parts;
  each_row(here, access, [&](const Row &row, int) { parts.push_back(load_row(row)); });
  if (parts.size() == 1 && Lanes::width(parts[0]) == 1) return parts[0];
  for (llvm::Value *&part : parts) part = lanes_.splat(part, here.group.width);
  parts.resize(static_cast<std::size_t>(here.group.copies), parts[0]);
  return lanes_.joined(parts);
}

void Memory::store(const Place &here, BufferId id, llvm::Value *value) {
  const block::Access &access = here.box->access(id, true);
  const int width = here.group.width;
  if (access.move != Move::Scalar) value = lanes_.splat(value, here.group.lanes());
  support::check(access.move != Move::Scalar || Lanes::width(value) == 1,
                 "lanes are stored to one place");
  each_row(here, access, [&](const Row &row, int r) {
    store_row(row, here.group.copies == 1 ? value : lanes_.some_lanes(value, r * width, width));
  });
}

llvm::Value *Memory::load_row(const Row &row) {
  const DType dtype = program_[row.access.buffer].dtype;
  if (row.access.prefetch.lines && row.access.move != Move::Transposed) read_ahead(row);
  if (is_complex(dtype) && row.access.move != Move::Stack)
    return load_complex(row, real_dtype(dtype));
  llvm::Value *raw = load_lanes(row, row.at, dtype);
  if (dtype != DType::Bool || row.access.move == Move::Stack) return raw;
  return ir_.CreateICmpNE(raw, llvm::Constant::getNullValue(raw->getType()));
}

void Memory::store_row(const Row &row, llvm::Value *value) {
  const BufferId id = row.access.buffer;
  const DType dtype = program_[id].dtype;
  if (row.access.move == Move::Held) {
    (*row.here.held)[id.index] = value;
    if (!row.here.last) return;
  }
  if (is_complex(dtype) && row.access.move != Move::Stack)
    return store_complex(row, real_dtype(dtype), value);
  if (dtype == DType::Bool && row.access.move != Move::Stack)
    value = ir_.CreateZExt(value, lanes_.widen(ir_.getInt8Ty(), Lanes::width(value)));
  store_lanes(row, row.at, dtype, value);
}

// What is at `base` for the first lane: an element, or a part of one.
llvm::Value *Memory::load_lanes(const Row &row, llvm::Value *base, DType dtype) {
  const BufferId id = row.access.buffer;
  switch (row.access.move) {
  case Move::Scalar:
    return ir_.CreateAlignedLoad(lanes_.memory_type(dtype), base, llvm::Align(size_of(dtype)));
  case Move::Row: return load_neighbours(row, dtype, 1);
  case Move::Window:
    return load_window(apart(row, base, dtype),
                       block::window_step(program_[id], row.group.loop->axis));
  case Move::Gather:
  case Move::Single: return load_apart(apart(row, base, dtype));
  case Move::Transposed: return load_element(row.here, *row.here.loaded.at(id));
  case Move::Stack: {
    llvm::Type *type = slots_[id.index]->getAllocatedType();
    return ir_.CreateLoad(type, slot(row.here, id, type));
  }
  case Move::Streamed:
  case Move::Held: break;
  }
  support::bug("a load that is none of lanes");
}

void Memory::store_lanes(const Row &row, llvm::Value *base, DType dtype, llvm::Value *value) {
  const BufferId id = row.access.buffer;
  switch (row.access.move) {
  case Move::Scalar: ir_.CreateAlignedStore(value, base, llvm::Align(size_of(dtype))); return;
  case Move::Row:
  case Move::Streamed:
  case Move::Held: store_neighbours(row, dtype, 1, value); return;
  case Move::Gather:
  case Move::Single: store_apart(apart(row, base, dtype), value); return;
  case Move::Transposed: store_element(row.here, *row.here.awaited.at(id), value); return;
  case Move::Stack: ir_.CreateStore(value, slot(row.here, id, value->getType())); return;
  case Move::Window: break;
  }
  support::bug("a store that is none of lanes");
}

llvm::Value *Memory::load_neighbours(const Row &row, DType dtype, int parts) {
  const llvm::Align align(size_of(dtype));
  llvm::Type *type = lanes_.widen(lanes_.memory_type(dtype), parts * row.group.width);
  llvm::Value *mask = mask_of(ir_, row.group, parts);
  if (mask == nullptr) return ir_.CreateAlignedLoad(type, row.at, align);
  return ir_.CreateMaskedLoad(type, row.at, align, mask, llvm::Constant::getNullValue(type));
}

// All of a group's elements at once, in one piece; non-temporal where that is wanted.
void Memory::store_neighbours(const Row &row, DType dtype, int parts, llvm::Value *value) {
  const std::size_t size = size_of(dtype);
  if (llvm::Value *mask = mask_of(ir_, row.group, parts)) {
    if (context_.machine.has_masked_move(size))
      ir_.CreateMaskedStore(value, row.at, llvm::Align(size), mask);
    else // of what is held: a row has been looked at already
      store_apart(apart(row, row.at, dtype), value);
    return;
  }
  const bool around = row.here.aligned && row.access.move == Move::Streamed;
  const std::size_t alignment =
      around ? stream_alignment(row.access.buffer, row.group.width) : size;
  llvm::StoreInst *stored = ir_.CreateAlignedStore(value, row.at, llvm::Align(alignment));
  if (around)
    stored->setMetadata(
        llvm::LLVMContext::MD_nontemporal,
        llvm::MDNode::get(ir_.getContext(), {llvm::ConstantAsMetadata::get(ir_.getInt32(1))}));
}

llvm::Value *Memory::load_complex(const Row &row, DType part) {
  const int width = row.group.width;
  llvm::Value *first = row.at, *second = context_.address(first, ir_.getInt64(size_of(part)));
  if (row.access.move != Move::Row)
    return lanes_.pair(load_lanes(row, first, part), load_lanes(row, second, part));
  llvm::Value *alternating = load_neighbours(row, part, 2);
  std::vector<int> even, odd;
  for (int k = 0; k < width; ++k) even.push_back(2 * k), odd.push_back(2 * k + 1);
  return lanes_.pair(ir_.CreateShuffleVector(alternating, even),
                     ir_.CreateShuffleVector(alternating, odd));
}

void Memory::store_complex(const Row &row, DType part, llvm::Value *value) {
  const int width = row.group.width;
  llvm::Value *first = row.at, *second = context_.address(first, ir_.getInt64(size_of(part)));
  llvm::Value *re = lanes_.part(value, 0), *im = lanes_.part(value, 1);
  if (row.access.move == Move::Scalar || row.access.move == Move::Gather ||
      row.access.move == Move::Single) {
    store_lanes(row, first, part, re);
    store_lanes(row, second, part, im);
    return;
  }
  std::vector<int> alternating;
  for (int k = 0; k < width; ++k) alternating.push_back(k), alternating.push_back(width + k);
  store_neighbours(row, part, 2, ir_.CreateShuffleVector(re, im, alternating));
}

// Where the element of each lane is on the stack, of a row that each lane has for itself.
llvm::Value *Memory::slot(const Place &here, BufferId id, llvm::Type *type) {
  context_.took(Path::RowOfLanes);
  llvm::AllocaInst *&room = slots_[id.index];
  if (room == nullptr || room->getAllocatedType() != type) room = lanes_.room(type, fold_lanes);
  return ir_.CreateGEP(type, room, here.positions[program_[id].walks.front().axis.index]);
}

} // namespace broadloom::jit
