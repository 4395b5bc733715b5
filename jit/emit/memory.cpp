// Loads and stores, exact to the byte: see memory.hpp.
//
// In a partial group only the lanes that count are touched: by masked instructions where the
// machine has them, else one by one through a vector on the stack. The parts of complex numbers
// alternate in memory and lie apart in registers, so a row of W elements is one move of 2 W parts,
// and one shuffle for either part:
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

// Elements of less than a word as words, or as one number: the code generator would move them by
// twos and fours.
llvm::Type *moved_at_once(Builder &ir, llvm::FixedVectorType *type) {
  const auto bits = unsigned(type->getPrimitiveSizeInBits().getFixedValue());
  if (type->getScalarSizeInBits() >= 32) return type;
  return bits <= 64 ? static_cast<llvm::Type *>(ir.getIntNTy(bits))
                    : llvm::FixedVectorType::get(ir.getInt32Ty(), bits / 32);
}

} // namespace

// The rows of the place; where the buffer does not move along them, all have the same.
void Memory::each_row(const Place &here, const block::Access &access,
                      llvm::function_ref<void(const Row &, int)> move) {
  const BufferId id = access.buffer;
  const std::optional<AxisId> rows = here.group.rows;
  Row row{here, access, here.group, here.at[id.index], program_[id].dtype};
  row.group.copies = 1;
  if (access.move == Move::Slots && // of lanes that do not count as well: nobody looks there
      !lanes_.are_threads())        // of which there may be more than slots
    row.group.active = row.group.mask = nullptr;
  if (!rows || context_.walk(id, *rows) == nullptr) return move(row, 0);
  for (int r = 0; r < here.group.copies; ++r) {
    row.at = context_.address(here.at[id.index], id, *rows, context_.number(r));
    move(row, r);
  }
}

llvm::Value *Memory::load(const Place &here, BufferId id) {
  const block::Access &access = here.box->access(id, false);
  if (here.held != nullptr && (*here.held)[id.index] != nullptr) return (*here.held)[id.index];
  if (here.shared == nullptr || (here.like == nullptr && !access.shared))
    return load_anew(here, access);
  std::pair key{id, here.like != nullptr ? (*here.like)[id.index] : 0};
  if (here.like == nullptr) {
    const Buffer::Shift shift = block::shift_along(program_, id, here.jam->axis);
    key = {shift.of, shift.by + here.row};
  }
  llvm::Value *&known = (*here.shared)[key];
  if (known == nullptr)
    known = load_anew(here, access);
  else
    context_.took(here.like != nullptr ? Path::FoldTileShared : Path::RowShared);
  return known;
}

// Not 0 where the rows of a jam do not lie as its code takes for granted: loads that share rows do
// not see one array, or rows are not all aligned alike that go around the caches.
llvm::Value *Memory::apart(const Place &here, const block::Box &box, AxisId rows) {
  llvm::Value *found = nullptr;
  const auto add = [&](llvm::Value *bits) {
    found = found == nullptr ? bits : ir_.CreateOr(found, bits);
  };
  for (const block::Access &access : box.accesses) {
    const BufferId id = access.buffer;
    if (access.move == Move::Streamed)
      add(ir_.CreateAnd(context_.step_bytes(id, rows),
                        stream_alignment(id, box.count(block::As::Lanes)) - 1));
    const Buffer::Shift shift = block::shift_along(program_, id, rows);
    if (!access.shared || shift.by == 0) continue;
    llvm::Value *step = context_.step_bytes(id, rows);
    add(ir_.CreateXor(step, context_.step_bytes(shift.of, rows)));
    const auto address = [&](BufferId buffer) {
      return ir_.CreatePtrToInt(here.at[buffer.index], ir_.getInt64Ty());
    };
    add(ir_.CreateXor(address(id), ir_.CreateAdd(address(shift.of),
                                                 ir_.CreateMul(step, context_.number(shift.by)))));
  }
  return found;
}

llvm::Value *Memory::load_anew(const Place &here, const block::Access &access) {
  const BufferId id = access.buffer;
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
  if (program_[id].role == Role::Row && here.group.loop != nullptr && here.group.loop->scan)
    context_.took(Path::RowOfScan);
  if (access.move == Move::Slots) context_.took(Path::RowInLanes);
  if (access.move != Move::Scalar) value = lanes_.splat(value, here.group.lanes());
  support::check(access.move != Move::Scalar || Lanes::width(value) == 1,
                 "lanes are stored to one place");
  each_row(here, access, [&](const Row &row, int r) {
    store_row(row, here.group.copies == 1 ? value : lanes_.some_lanes(value, r * width, width));
  });
}

llvm::Value *Memory::load_row(const Row &row) {
  const bool transposed = row.access.move == Move::Transposed;
  if (row.access.move == Move::Stack) return load_lanes(row); // a value as it is
  if (row.access.prefetch.lines && !transposed) read_ahead(row);
  if (row.access.prefetch.block && !transposed) ask_for_rows_below(row);
  if (is_complex(row.dtype)) return load_complex(row);
  llvm::Value *raw = load_lanes(row);
  if (row.dtype != DType::Bool) return raw;
  return ir_.CreateICmpNE(raw, llvm::Constant::getNullValue(raw->getType()));
}

void Memory::store_row(const Row &row, llvm::Value *value) {
  if (row.access.move == Move::Stack) return store_lanes(row, value);
  if (row.access.move == Move::Held) {
    (*row.here.held)[row.access.buffer.index] = value;
    if (!row.here.last) return;
  }
  if (is_complex(row.dtype)) return store_complex(row, value);
  if (row.dtype == DType::Bool)
    value = ir_.CreateZExt(value, lanes_.widen(ir_.getInt8Ty(), Lanes::width(value)));
  store_lanes(row, value);
}

llvm::Value *Memory::load_lanes(const Row &row) {
  const BufferId id = row.access.buffer;
  if (lanes_.are_threads() && row.access.move != Move::Stack &&
      row.access.move != Move::Transposed && row.access.move != Move::Wide)
    return load_of_thread(row);
  switch (row.access.move) {
  case Move::Scalar:
    return ir_.CreateAlignedLoad(lanes_.memory_type(row.dtype), row.at,
                                 llvm::Align(size_of(row.dtype)));
  case Move::Row:
  case Move::Slots: return load_neighbours(row, 1);
  case Move::Strided: return load_strided(row);
  case Move::Gather:
  case Move::Single: return load_apart(row);
  case Move::Transposed:
  case Move::Wide: return load_element(row.here, *row.here.loaded.at(id));
  case Move::Stack: {
    llvm::Type *type = slots_[id.index]->getAllocatedType();
    return ir_.CreateLoad(type, slot(row.here, id, type));
  }
  case Move::Streamed:
  case Move::Held: break;
  }
  support::bug("a load that is none of lanes");
}

void Memory::store_lanes(const Row &row, llvm::Value *value) {
  const BufferId id = row.access.buffer;
  if (lanes_.are_threads() && row.access.move != Move::Stack && row.access.move != Move::Wide)
    return store_of_thread(row, value);
  switch (row.access.move) {
  case Move::Scalar: ir_.CreateAlignedStore(value, row.at, llvm::Align(size_of(row.dtype))); return;
  case Move::Row:
  case Move::Slots:
  case Move::Streamed:
  case Move::Held: return store_neighbours(row, 1, value);
  case Move::Gather:
  case Move::Single: return store_apart(row, value);
  case Move::Transposed:
  case Move::Wide: return store_element(row.here, *row.here.awaited.at(id), value);
  case Move::Stack: ir_.CreateStore(value, slot(row.here, id, value->getType())); return;
  case Move::Strided: break;
  }
  support::bug("a store that is none of lanes");
}

llvm::Value *Memory::load_neighbours(const Row &row, int parts) {
  const llvm::Align align(size_of(row.dtype));
  llvm::Type *type = lanes_.widen(lanes_.memory_type(row.dtype), parts * row.group.width);
  llvm::Value *mask = mask_of(ir_, row.group, parts);
  if (mask == nullptr) return ir_.CreateAlignedLoad(type, row.at, align);
  return ir_.CreateMaskedLoad(type, row.at, align, mask, llvm::Constant::getNullValue(type));
}

// All of a group's elements at once, in one piece; non-temporal where that is wanted.
void Memory::store_neighbours(const Row &row, int parts, llvm::Value *value) {
  const std::size_t size = size_of(row.dtype);
  if (llvm::Value *mask = mask_of(ir_, row.group, parts)) {
    // Complex numbers have no other way: where there is no such move, LLVM makes a branch for each
    // part.
    if (parts > 1 || context_.machine.has_masked_move(size))
      ir_.CreateMaskedStore(value, row.at, llvm::Align(size), mask);
    else // of what is held: a row has been looked at already
      store_apart(row, value);
    return;
  }
  const bool around = row.here.aligned && row.access.move == Move::Streamed;
  const llvm::Align align(around ? stream_alignment(row.access.buffer, row.group.width) : size);
  // The code generator would join a narrowing with the store, which then goes through the caches.
  if (around && size < 4) value = fenced(ir_, value);
  llvm::StoreInst *stored = ir_.CreateAlignedStore(value, row.at, align);
  if (around)
    stored->setMetadata(
        llvm::LLVMContext::MD_nontemporal,
        llvm::MDNode::get(ir_.getContext(), {llvm::ConstantAsMetadata::get(ir_.getInt32(1))}));
}

// Where this thread's element, or part of one, is.
llvm::Value *Memory::address_in_thread(const Row &row) {
  if (row.access.move == Move::Scalar) return row.at;
  llvm::Value *place = place_of_thread(row.group);
  if (row.access.move == Move::Single) return address_of(row, place);
  llvm::Value *size = ir_.getInt64(size_of(program_[row.access.buffer].dtype));
  return context_.address(row.at, ir_.CreateMul(place, size));
}

llvm::Value *Memory::place_of_thread(const Group &group) {
  llvm::Value *thread = ir_.CreateZExt(lanes_.thread(), ir_.getInt64Ty());
  return group.apiece == 1 ? thread : ir_.CreateMul(thread, context_.number(group.apiece));
}

llvm::Value *Memory::address_of_neighbours(const Place &here, BufferId id) {
  return context_.address(
      here.at[id.index],
      ir_.CreateMul(place_of_thread(here.group), ir_.getInt64(size_of(program_[id].dtype))));
}

llvm::Value *Memory::whole_and_aligned(const Place &here, const block::Box &box, Range range) {
  llvm::Value *wrong = ir_.getInt64(0);
  for (const block::Access &access : box.accesses) {
    if (access.move != Move::Wide) continue;
    const std::size_t size = size_of(program_[access.buffer].dtype);
    wrong = ir_.CreateOr(
        wrong, misaligned(here, access.buffer, range.begin, size * std::size_t(box.apiece())));
  }
  llvm::Value *whole = context_.whole(range, box.positions());
  return ir_.CreateSelect(ir_.CreateICmpEQ(wrong, ir_.getInt64(0)), whole, range.begin);
}

// One load of all that a thread has of each.
Registers Memory::neighbours(const Place &here, bool store) {
  Registers found;
  const auto apiece = unsigned(here.group.apiece);
  for (const block::Access &access : here.box->accesses) {
    if (access.move != Move::Wide || access.store != store) continue;
    const BufferId id = access.buffer;
    Elements &elements = found[id];
    elements.along = here.group.loop->axis;
    elements.vectors.resize(apiece);
    if (store) continue;
    auto *type = llvm::FixedVectorType::get(lanes_.memory_type(program_[id].dtype), apiece);
    llvm::Value *all = ir_.CreateBitCast(
        ir_.CreateAlignedLoad(moved_at_once(ir_, type), address_of_neighbours(here, id),
                              llvm::Align(size_of(program_[id].dtype) * apiece)),
        type);
    for (unsigned k = 0; k < apiece; ++k)
      elements.vectors[k] = ir_.CreateExtractElement(all, std::uint64_t(k));
  }
  return found;
}

void Memory::store_neighbours(const Place &here, const Registers &awaited) {
  for (const auto &[id, elements] : awaited) {
    const Values &all = elements.vectors;
    auto *type = llvm::FixedVectorType::get(all[0]->getType(), unsigned(all.size()));
    llvm::Value *joined = llvm::PoisonValue::get(type);
    for (std::size_t k = 0; k < all.size(); ++k)
      joined = ir_.CreateInsertElement(joined, all[k], k);
    ir_.CreateAlignedStore(ir_.CreateBitCast(joined, moved_at_once(ir_, type)),
                           address_of_neighbours(here, id),
                           llvm::Align(size_of(program_[id].dtype) * all.size()));
  }
}

llvm::Value *Memory::load_of_thread(const Row &row) {
  llvm::Type *type = lanes_.memory_type(row.dtype);
  const auto load = [&] {
    return Values{
        ir_.CreateAlignedLoad(type, address_in_thread(row), llvm::Align(size_of(row.dtype)))};
  };
  if (row.group.mask == nullptr || row.access.move == Move::Scalar) return load()[0];
  return lanes_.either(row.group.mask, load,
                       [&] { return Values{llvm::Constant::getNullValue(type)}; })[0];
}

void Memory::store_of_thread(const Row &row, llvm::Value *value) {
  const auto store = [&] {
    ir_.CreateAlignedStore(value, address_in_thread(row), llvm::Align(size_of(row.dtype)));
    return Values{};
  };
  if (row.access.move == Move::Scalar)
    lanes_.store_once([&] { store(); });
  else if (row.group.mask == nullptr)
    store();
  else
    lanes_.either(row.group.mask, store, [] { return Values{}; });
}

// Of a row of complex numbers: their real parts, or the imaginary ones.
Memory::Row Memory::part(const Row &row, int number) {
  Row part = row;
  part.dtype = real_dtype(row.dtype);
  if (number > 0) part.at = context_.address(row.at, ir_.getInt64(size_of(part.dtype)));
  return part;
}

llvm::Value *Memory::load_complex(const Row &row) {
  const Row re = part(row, 0), im = part(row, 1);
  if ((row.access.move != Move::Row && row.access.move != Move::Slots) || lanes_.are_threads())
    return lanes_.pair(load_lanes(re), load_lanes(im));
  llvm::Value *alternating = load_neighbours(re, 2);
  std::vector<int> even, odd;
  for (int k = 0; k < row.group.width; ++k) even.push_back(2 * k), odd.push_back(2 * k + 1);
  return lanes_.pair(ir_.CreateShuffleVector(alternating, even),
                     ir_.CreateShuffleVector(alternating, odd));
}

void Memory::store_complex(const Row &row, llvm::Value *value) {
  const Row first = part(row, 0), second = part(row, 1);
  llvm::Value *re = lanes_.part(value, 0), *im = lanes_.part(value, 1);
  if (row.access.move == Move::Scalar || row.access.move == Move::Gather ||
      row.access.move == Move::Single || lanes_.are_threads()) {
    store_lanes(first, re);
    store_lanes(second, im);
    return;
  }
  std::vector<int> alternating;
  for (int k = 0; k < row.group.width; ++k)
    alternating.push_back(k), alternating.push_back(row.group.width + k);
  store_neighbours(first, 2, ir_.CreateShuffleVector(re, im, alternating));
}

// Where the element of each lane is on the stack, of a row that each lane has for itself.
llvm::Value *Memory::slot(const Place &here, BufferId id, llvm::Type *type) {
  context_.took(Path::RowOfLanes);
  llvm::AllocaInst *&room = slots_[id.index];
  if (room == nullptr || room->getAllocatedType() != type) room = lanes_.room(type, fold_ways);
  return ir_.CreateGEP(type, room, here.positions[program_[id].walks.front().axis.index]);
}

} // namespace broadloom::jit
