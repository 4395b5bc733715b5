// What short loops read and write of rows: the rows of all lanes, as they lie, transposed in registers.
//
//   rows of 4 in 8 lanes, loaded two to a vector      a0 a1 a2 a3 b0 b1 b2 b3 | c0 .. | e0 .. | g0 ..
//   evens and odds of neighbours, as columns are two  a0 a2 b0 b2 c0 c2 d0 d2 | e0 .. | a1 a3 b1 b3 .. | ..
//   and again                                         a0 b0 c0 d0 e0 f0 g0 h0 | a2 .. | a1 .. | a3 ..
//
// Loads one by one, or gathers, would take several times as long. In a partial group, lanes that do not count stand for the
// last one that does: they load its row, and store theirs there before it stores its own. Where no lane counts, as in the last
// registers of a fold's 32 lanes, nothing is stored.
#include "jit/emit/phase.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <bit>

namespace broadloom::jit {

using namespace loop;

namespace {

using Values = std::vector<llvm::Value *>;

// first, first + step, ..: `count` lanes of the two vectors side by side.
llvm::Value *pick(Builder &ir, llvm::Value *a, llvm::Value *b, int first, int step, int count) {
  std::vector<int> lanes;
  for (int k = 0; k < count; ++k) lanes.push_back(first + k * step);
  return ir.CreateShuffleVector(a, b, lanes);
}

// a[first], b[first], a[first + 1], b[first + 1], .. up to a whole vector.
llvm::Value *interleave(Builder &ir, llvm::Value *a, llvm::Value *b, int first, int width) {
  std::vector<int> lanes;
  for (int k = 0; k < width; ++k) lanes.push_back(first + k / 2 + (k % 2) * width);
  return ir.CreateShuffleVector(a, b, lanes);
}

// Of vectors that hold one row after another: the columns of these rows.
Values columns_from(Builder &ir, const Values &rows) {
  if (rows.size() == 1) return rows;
  const int width = Lanes::width(rows[0]);
  Values halves[2];
  for (int odd = 0; odd < 2; ++odd) {
    for (std::size_t k = 0; k < rows.size(); k += 2)
      halves[odd].push_back(pick(ir, rows[k], rows[k + 1], odd, 2, width));
    halves[odd] = columns_from(ir, halves[odd]);
  }
  Values columns;
  for (std::size_t k = 0; k < rows.size(); ++k) columns.push_back(halves[k % 2][k / 2]);
  return columns;
}

// The other way round.
Values rows_from(Builder &ir, const Values &columns) {
  if (columns.size() == 1) return columns;
  const int width = Lanes::width(columns[0]);
  Values halves[2];
  for (std::size_t k = 0; k < columns.size(); ++k) halves[k % 2].push_back(columns[k]);
  for (Values &half : halves) half = rows_from(ir, half);
  Values rows;
  for (std::size_t k = 0; k < columns.size(); ++k)
    rows.push_back(
        interleave(ir, halves[0][k / 2], halves[1][k / 2], k % 2 == 0 ? 0 : width / 2, width));
  return rows;
}

int padded(std::size_t count) { return static_cast<int>(std::bit_ceil(count)); }

llvm::Constant *first_of(Builder &ir, int count, int all) {
  std::vector<llvm::Constant *> lanes;
  for (int k = 0; k < all; ++k) lanes.push_back(ir.getInt1(k < count));
  return llvm::ConstantVector::get(lanes);
}

} // namespace

void PhaseEmitter::load_columns(const block::Run &run, bool in_memory) {
  const Loop &loop = program_[run.loop];
  for (const block::Access &access : run.whole().accesses) {
    if (access.store || access.move != block::Move::Transposed) continue;
    const BufferId id = access.buffer;
    if (walk(id, loop.axis) == nullptr) continue; // of a short loop around
    Columns columns{loop.axis, columns_of(id, loop.turns)};
    if (in_memory) columns.room = this->in_memory(columns.vectors);
    columns_[id.index] = std::move(columns);
  }
}

PhaseEmitter::Values PhaseEmitter::columns_of(BufferId id, int count) {
  Values columns;
  if (program_[id].stream) // row after row, more or less
    ask_ahead(at_[id.index],
              static_cast<std::int64_t>(size_of(program_[id].dtype)) * width_ * count);
  for (int first = 0; first < count; first += width_) {
    const Values block = columns_of_block(id, first, std::min(width_, count - first));
    columns.insert(columns.end(), block.begin(), block.end());
  }
  return columns;
}

// The address of element `first` in the row of each lane.
PhaseEmitter::Values PhaseEmitter::row_addresses(BufferId id, int first) {
  llvm::Value *last = active_ == nullptr
                          ? nullptr
                          : ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, ir_.getInt64(0),
                                                      ir_.CreateSub(active_, ir_.getInt64(1)));
  llvm::Value *corner = ir_.CreateConstGEP1_64(lanes_.memory_type(program_[id].dtype),
                                               at_[id.index], static_cast<std::uint64_t>(first));
  Values rows;
  for (int lane = 0; lane < width_; ++lane) {
    llvm::Value *row = ir_.getInt64(static_cast<std::uint64_t>(lane));
    if (last != nullptr) row = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, row, last);
    rows.push_back(address(corner, ir_.CreateMul(row, step_bytes(id, vector_->axis))));
  }
  return rows;
}

PhaseEmitter::Values PhaseEmitter::columns_of_block(BufferId id, int first, int count) {
  const DType dtype = program_[id].dtype;
  const llvm::Align align(size_of(dtype));
  llvm::Type *scalar = lanes_.memory_type(dtype);
  const int all = padded(static_cast<std::size_t>(count));
  const auto load = [&](llvm::Value *there) -> llvm::Value * {
    auto *whole = llvm::FixedVectorType::get(scalar, static_cast<unsigned>(all));
    if (count == all) return ir_.CreateAlignedLoad(whole, there, align);
    if (machine_.has_masked_move(size_of(dtype)))
      return ir_.CreateMaskedLoad(whole, there, align, first_of(ir_, count, all),
                                  llvm::Constant::getNullValue(whole));
    auto *part = llvm::FixedVectorType::get(scalar, static_cast<unsigned>(count));
    llvm::Value *row = ir_.CreateAlignedLoad(part, there, align);
    return pick(ir_, row, llvm::Constant::getNullValue(part), 0, 1, all);
  };
  took(Path::ColumnsLoaded);
  Values rows;
  for (llvm::Value *there : row_addresses(id, first)) rows.push_back(load(there));
  for (int together = all; together < width_; together *= 2) { // several rows to a vector
    Values joined;
    for (std::size_t k = 0; k < rows.size(); k += 2)
      joined.push_back(pick(ir_, rows[k], rows[k + 1], 0, 1, 2 * together));
    rows = std::move(joined);
  }
  Values columns = columns_from(ir_, rows);
  columns.resize(static_cast<std::size_t>(count));
  return columns;
}

// The element of each lane at the current position, of rows that have been loaded.
llvm::Value *PhaseEmitter::column(BufferId id) {
  const Columns &columns = columns_[id.index];
  llvm::Value *position = positions_[columns.along.index];
  if (columns.room == nullptr)
    return columns.vectors[llvm::cast<llvm::ConstantInt>(position)->getZExtValue()];
  llvm::Type *type = columns.vectors[0]->getType();
  return ir_.CreateLoad(type, ir_.CreateGEP(type, columns.room, position));
}

// From here on the body leaves what it stores into rows to `store_columns`.
void PhaseEmitter::await_columns(const block::Run &run, bool in_memory) {
  const Loop &loop = program_[run.loop];
  for (const block::Access &access : run.whole().accesses) {
    if (!access.store || access.move != block::Move::Transposed) continue;
    if (walk(access.buffer, loop.axis) == nullptr) continue;
    Columns columns{loop.axis, Values(static_cast<std::size_t>(loop.turns), nullptr)};
    llvm::Type *type = lanes_.widen(lanes_.memory_type(program_[access.buffer].dtype), width_);
    if (in_memory) columns.room = lanes_.room(type, columns.vectors.size());
    awaited_[access.buffer.index] = std::move(columns);
  }
}

void PhaseEmitter::keep_column(BufferId id, llvm::Value *value) {
  Columns &columns = awaited_[id.index];
  llvm::Value *position = positions_[columns.along.index];
  if (columns.room != nullptr)
    ir_.CreateStore(value, ir_.CreateGEP(value->getType(), columns.room, position));
  else
    columns.vectors[llvm::cast<llvm::ConstantInt>(position)->getZExtValue()] = value;
}

void PhaseEmitter::store_columns() {
  const auto store_all = [&] {
    for (std::uint32_t k = 0; k < awaited_.size(); ++k)
      if (!awaited_[k].vectors.empty()) store_columns_of(BufferId{k});
    return Values{};
  };
  if (active_ == nullptr)
    store_all();
  else
    lanes_.either(ir_.CreateICmpSGT(active_, ir_.getInt64(0)), store_all, [] { return Values{}; });
}

void PhaseEmitter::store_columns_of(BufferId id) {
  Columns &columns = awaited_[id.index];
  llvm::Type *type = lanes_.widen(lanes_.memory_type(program_[id].dtype), width_);
  for (std::size_t p = 0; columns.room != nullptr && p < columns.vectors.size(); ++p)
    columns.vectors[p] = ir_.CreateLoad(type, ir_.CreateConstGEP1_64(type, columns.room, p));
  const auto width = static_cast<std::size_t>(width_);
  for (std::size_t first = 0; first < columns.vectors.size(); first += width) {
    const auto begin = columns.vectors.begin() + static_cast<std::ptrdiff_t>(first);
    const auto count = std::min(columns.vectors.size() - first, width);
    store_block(id, static_cast<int>(first),
                Values(begin, begin + static_cast<std::ptrdiff_t>(count)));
  }
}

void PhaseEmitter::store_block(BufferId id, int first, Values columns) {
  const std::size_t size = size_of(program_[id].dtype);
  const int count = static_cast<int>(columns.size()), all = padded(columns.size());
  columns.resize(static_cast<std::size_t>(all), llvm::PoisonValue::get(columns[0]->getType()));
  const Values rows = rows_from(ir_, columns), addresses = row_addresses(id, first);
  const bool masked = count < all && machine_.has_masked_move(size);
  took(Path::ColumnsStored);
  for (int lane = width_ - 1; lane >= 0; --lane) {
    llvm::Value *vector = rows[static_cast<std::size_t>(lane * all / width_)];
    llvm::Value *row = pick(ir_, vector, vector, lane * all % width_, 1, masked ? all : count);
    llvm::Value *there = addresses[static_cast<std::size_t>(lane)];
    if (masked)
      ir_.CreateMaskedStore(row, there, llvm::Align(size), first_of(ir_, count, all));
    else
      ir_.CreateAlignedStore(row, there, llvm::Align(size));
  }
}

llvm::Value *PhaseEmitter::row_of_lanes(BufferId id, llvm::Type *type) {
  took(Path::RowOfLanes);
  llvm::AllocaInst *&room = row_rooms_[id.index];
  if (room == nullptr || room->getAllocatedType() != type) room = lanes_.room(type, fold_lanes);
  return ir_.CreateGEP(type, room, positions_[program_[id].walks.front().axis.index]);
}

} // namespace broadloom::jit
