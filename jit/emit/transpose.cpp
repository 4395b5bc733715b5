// Blocks of rows that are transposed in registers, where the lanes of a vector are rows: what short loops read and write of the rows
// of all lanes, and what lies across in a tile of two loops.
//
//   rows of 4 in 8 lanes, loaded two to a vector      a0 a1 a2 a3 b0 b1 b2 b3 | c0 .. | e0 .. | g0 ..
//   evens and odds of neighbours, as columns are two  a0 a2 b0 b2 c0 c2 d0 d2 | e0 .. | a1 a3 b1 b3 .. | ..
//   and again                                         a0 b0 c0 d0 e0 f0 g0 h0 | a2 .. | a1 .. | a3 ..
//
// Loads one by one, or gathers, would take several times as long. In a partial group, lanes that do not count stand for the
// last one that does: they load its row, and store theirs there before it stores its own. Where no lane counts, as in the last
// registers of a fold's 32 lanes, nothing is stored.
#include "jit/emit/memory.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <bit>

namespace broadloom::jit {

using namespace loop;

namespace {

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

// Until the end of the turns, in stack memory, so that one copy of the body does for all of them.
void Memory::put_on_stack(Elements &elements) {
  llvm::Type *type = elements.vectors[0]->getType();
  elements.room = lanes_.room(type, elements.vectors.size());
  for (std::size_t k = 0; k < elements.vectors.size(); ++k)
    ir_.CreateStore(elements.vectors[k], ir_.CreateConstGEP1_64(type, elements.room, k));
}

llvm::Value *Memory::load_element(const Place &here, const Elements &elements) {
  llvm::Value *row = elements.row != nullptr ? elements.row : here.positions[elements.along.index];
  if (elements.room == nullptr)
    return elements.vectors[llvm::cast<llvm::ConstantInt>(row)->getZExtValue()];
  llvm::Type *type = elements.room->getAllocatedType();
  return ir_.CreateLoad(type, ir_.CreateGEP(type, elements.room, row));
}

void Memory::store_element(const Place &here, Elements &elements, llvm::Value *value) {
  llvm::Value *row = here.positions[elements.along.index];
  if (elements.room == nullptr)
    elements.vectors[llvm::cast<llvm::ConstantInt>(row)->getZExtValue()] = value;
  else
    ir_.CreateStore(value, ir_.CreateGEP(value->getType(), elements.room, row));
}

Registers Memory::load_columns(const Place &here, const block::Run &run, bool on_stack) {
  const Loop &loop = program_[run.loop];
  Registers loaded;
  for (const block::Access &access : run.whole().accesses) {
    const BufferId id = access.buffer;
    if (access.store || access.move != block::Move::Transposed ||
        context_.walk(id, loop.axis) == nullptr) // of a short loop around
      continue;
    if (access.prefetch.lines) // row after row, more or less
      ask_ahead(here.group, here.at[id.index],
                static_cast<std::int64_t>(size_of(program_[id].dtype)) * here.group.width *
                    loop.turns);
    Elements &columns = loaded[id];
    columns.along = loop.axis;
    for (int first = 0; first < loop.turns; first += here.group.width) {
      const Values block =
          columns_of_block(here, id, first, std::min(here.group.width, loop.turns - first));
      columns.vectors.insert(columns.vectors.end(), block.begin(), block.end());
    }
    if (on_stack) put_on_stack(columns);
  }
  return loaded;
}

// From here on the body leaves what it stores into rows to `store_columns`.
Registers Memory::await_columns(const Place &here, const block::Run &run, bool on_stack) {
  const Loop &loop = program_[run.loop];
  const auto turns = static_cast<std::size_t>(loop.turns);
  Registers awaited;
  for (const block::Access &access : run.whole().accesses) {
    const BufferId id = access.buffer;
    if (!access.store || access.move != block::Move::Transposed ||
        context_.walk(id, loop.axis) == nullptr)
      continue;
    Elements &columns = awaited[id];
    columns.along = loop.axis;
    columns.vectors.resize(turns);
    if (on_stack)
      columns.room = lanes_.room(
          lanes_.widen(lanes_.memory_type(program_[id].dtype), here.group.width), turns);
  }
  return awaited;
}

void Memory::store_columns(const Place &here, Registers &awaited) {
  const auto store_all = [&] {
    for (auto &[id, columns] : awaited) {
      Values &vectors = columns.vectors;
      for (std::size_t p = 0; columns.room != nullptr && p < vectors.size(); ++p) {
        llvm::Type *type = columns.room->getAllocatedType();
        vectors[p] = ir_.CreateLoad(type, ir_.CreateConstGEP1_64(type, columns.room, p));
      }
      const auto width = static_cast<std::size_t>(here.group.width);
      for (std::size_t first = 0; first < vectors.size(); first += width) {
        const llvm::ArrayRef<llvm::Value *> some =
            llvm::ArrayRef(vectors).slice(first, std::min(vectors.size() - first, width));
        store_block(here, id, static_cast<int>(first), some.vec());
      }
    }
    return Values{};
  };
  if (here.group.active == nullptr)
    store_all();
  else
    lanes_.either(ir_.CreateICmpSGT(here.group.active, ir_.getInt64(0)), store_all,
                  [] { return Values{}; });
}

// The address of element `first` in the row of each lane.
Values Memory::row_addresses(const Place &here, BufferId id, int first) {
  const Group &group = here.group;
  llvm::Value *last =
      group.active == nullptr
          ? nullptr
          : context_.greatest(ir_.getInt64(0), ir_.CreateSub(group.active, ir_.getInt64(1)));
  llvm::Value *corner = ir_.CreateConstGEP1_64(
      lanes_.memory_type(program_[id].dtype), here.at[id.index], static_cast<std::uint64_t>(first));
  Values rows;
  for (int lane = 0; lane < group.width; ++lane) {
    llvm::Value *row = context_.number(lane);
    if (last != nullptr) row = context_.least(row, last);
    llvm::Value *step = context_.step_bytes(id, group.loop->axis);
    rows.push_back(context_.address(corner, ir_.CreateMul(row, step)));
  }
  return rows;
}

Values Memory::columns_of_block(const Place &here, BufferId id, int first, int count) {
  const DType dtype = program_[id].dtype;
  const int width = here.group.width;
  const llvm::Align align(size_of(dtype));
  llvm::Type *scalar = lanes_.memory_type(dtype);
  const int all = padded(static_cast<std::size_t>(count));
  const auto load = [&](llvm::Value *there) -> llvm::Value * {
    auto *whole = llvm::FixedVectorType::get(scalar, static_cast<unsigned>(all));
    if (count == all) return ir_.CreateAlignedLoad(whole, there, align);
    if (context_.machine.has_masked_move(size_of(dtype)))
      return ir_.CreateMaskedLoad(whole, there, align, first_of(ir_, count, all),
                                  llvm::Constant::getNullValue(whole));
    auto *part = llvm::FixedVectorType::get(scalar, static_cast<unsigned>(count));
    llvm::Value *row = ir_.CreateAlignedLoad(part, there, align);
    return pick(ir_, row, llvm::Constant::getNullValue(part), 0, 1, all);
  };
  context_.took(Path::ColumnsLoaded);
  Values rows;
  for (llvm::Value *there : row_addresses(here, id, first)) rows.push_back(load(there));
  for (int together = all; together < width; together *= 2) { // several rows to a vector
    Values joined;
    for (std::size_t k = 0; k < rows.size(); k += 2)
      joined.push_back(pick(ir_, rows[k], rows[k + 1], 0, 1, 2 * together));
    rows = std::move(joined);
  }
  Values columns = columns_from(ir_, rows);
  columns.resize(static_cast<std::size_t>(count));
  return columns;
}

void Memory::store_block(const Place &here, BufferId id, int first, Values columns) {
  const std::size_t size = size_of(program_[id].dtype);
  const int width = here.group.width;
  const int count = static_cast<int>(columns.size()), all = padded(columns.size());
  columns.resize(static_cast<std::size_t>(all), llvm::PoisonValue::get(columns[0]->getType()));
  const Values rows = rows_from(ir_, columns), addresses = row_addresses(here, id, first);
  const bool masked = count < all && context_.machine.has_masked_move(size);
  context_.took(Path::ColumnsStored);
  for (int lane = width - 1; lane >= 0; --lane) {
    llvm::Value *vector = rows[static_cast<std::size_t>(lane * all / width)];
    llvm::Value *row = pick(ir_, vector, vector, lane * all % width, 1, masked ? all : count);
    llvm::Value *there = addresses[static_cast<std::size_t>(lane)];
    if (masked)
      ir_.CreateMaskedStore(row, there, llvm::Align(size), first_of(ir_, count, all));
    else
      ir_.CreateAlignedStore(row, there, llvm::Align(size));
  }
}

Elements Memory::load_block(const Place &here, BufferId id, AxisId along, llvm::Value *row,
                            AxisId across, llvm::Value *lane, int width) {
  const std::size_t size = size_of(program_[id].dtype);
  llvm::Type *type = lanes_.widen(lanes_.memory_type(program_[id].dtype), width);
  llvm::Value *step = context_.step_bytes(id, across);
  llvm::Value *there =
      context_.address(here.at[id.index], ir_.CreateMul(row, context_.step_bytes(id, along)));
  there = context_.address(there, ir_.CreateMul(lane, step));
  Elements block;
  block.along = along;
  for (int k = 0; k < width; ++k) {
    block.vectors.push_back(ir_.CreateAlignedLoad(type, there, llvm::Align(size)));
    there = context_.address(there, step);
  }
  block.vectors = transposed(std::move(block.vectors), size);
  put_on_stack(block);
  return block;
}

// In each round, at distance d, the vectors r and r + d exchange every second run of d lanes:
//
//   a0 a1 a2 a3, b0 b1 b2 b3   with d = 1:   a0 b0 a2 b2, a1 b1 a3 b3
//
// Inside of 16 bytes the machine has cheap shuffles that take neighbours from either vector, so for elements of four
// bytes the first two rounds are made of those.
Values Memory::transposed(Values v, std::size_t size) {
  const int width = static_cast<int>(v.size());
  int distance = 1;
  if (size == 4 && width >= 4) {
    std::vector<int> low, high, first, second;
    for (int lane = 0; lane < width; lane += 4)
      for (const int k : {0, width, 1, width + 1}) {
        low.push_back(lane + k);
        high.push_back(lane + k + 2);
      }
    for (int lane = 0; lane < width; lane += 4)
      for (const int k : {0, 1, width, width + 1}) {
        first.push_back(lane + k);
        second.push_back(lane + k + 2);
      }
    for (std::size_t r = 0; r < v.size(); r += 4) {
      llvm::Value *a = ir_.CreateShuffleVector(v[r], v[r + 1], low);
      llvm::Value *b = ir_.CreateShuffleVector(v[r], v[r + 1], high);
      llvm::Value *c = ir_.CreateShuffleVector(v[r + 2], v[r + 3], low);
      llvm::Value *d = ir_.CreateShuffleVector(v[r + 2], v[r + 3], high);
      v[r] = ir_.CreateShuffleVector(a, c, first);
      v[r + 1] = ir_.CreateShuffleVector(a, c, second);
      v[r + 2] = ir_.CreateShuffleVector(b, d, first);
      v[r + 3] = ir_.CreateShuffleVector(b, d, second);
    }
    distance = 4;
  }
  for (; distance < width; distance *= 2) {
    std::vector<int> upper, lower;
    for (int lane = 0; lane < width; ++lane) {
      upper.push_back((lane & distance) != 0 ? width + lane - distance : lane);
      lower.push_back((lane & distance) != 0 ? width + lane : lane + distance);
    }
    for (int r = 0; r < width; ++r) {
      if ((r & distance) != 0) continue;
      llvm::Value *&a = v[static_cast<std::size_t>(r)];
      llvm::Value *&b = v[static_cast<std::size_t>(r + distance)];
      llvm::Value *top = ir_.CreateShuffleVector(a, b, upper);
      b = ir_.CreateShuffleVector(a, b, lower);
      a = top;
    }
  }
  return v;
}

} // namespace broadloom::jit
