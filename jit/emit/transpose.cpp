// Blocks of rows that are transposed in registers, where the lanes of a vector are rows: what short
// loops read and write of the rows of all lanes, and what lies across in a tile of two loops.
//
// In each round, at distance d, the vectors r and r + d exchange every second run of d lanes, so
// that the bits of a row's number and those of its elements' change places:
//
//   rows of 4 in 8 lanes, two to a vector   a0 a1 a2 a3 e0 e1 e2 e3 | b0 b1 .. f3 | c0 .. g3 | d0
//                                           .. h3
//   d = 1                                   a0 b0 a2 b2 e0 f0 e2 f2 | a1 b1 a3 b3 .. | c0 d0 c2 d2
//                                           .. | ..
//   d = 2                                   a0 b0 c0 d0 e0 f0 g0 h0 | a1 b1 .. h1 | a2 .. h2 | a3
//                                           .. h3
//
// Loads one by one, or gathers, would take several times as long. In a partial group, lanes that do
// not count stand for the last one that does: they load its row, and store theirs there before it
// stores its own. Where no lane counts, as in the last registers of a fold's 32 ways, nothing is
// stored.
#include "jit/emit/memory.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace broadloom::jit {

using namespace loop;

namespace {

int padded(int count) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(count))); }

std::vector<int> run_of(int first, int count) {
  std::vector<int> lanes(static_cast<std::size_t>(count));
  std::iota(lanes.begin(), lanes.end(), first);
  return lanes;
}

llvm::Constant *first_of(Builder &ir, int count, int all) {
  std::vector<llvm::Constant *> lanes;
  for (int k = 0; k < all; ++k) lanes.push_back(ir.getInt1(k < count));
  return llvm::ConstantVector::get(lanes);
}

// The last two rounds for vectors of four pieces of so many elements, the same of four vectors A B
// C D that lie so many apart:
//
//   A0 A2 B0 B2 | C0 C2 D0 D2    of which A0 B0 C0 D0 and A2 B2 C2 D2 are made
//   A1 A3 B1 B3 | C1 C3 D1 D3    .. A1 B1 C1 D1 and A3 B3 C3 D3
void exchange_pieces(Builder &ir, Values &v, int piece) {
  const auto pick = [&](llvm::Value *a, llvm::Value *b, int first) { // every second piece of both
    std::vector<int> lanes;
    for (int k = first; k < 8; k += 2)
      for (int lane = 0; lane < piece; ++lane) lanes.push_back(k * piece + lane);
    return ir.CreateShuffleVector(a, b, lanes);
  };
  const auto each = static_cast<std::size_t>(piece);
  for (std::size_t c = 0; c < each; ++c) {
    llvm::Value *even[] = {pick(v[c], v[each + c], 0), pick(v[2 * each + c], v[3 * each + c], 0)};
    llvm::Value *odd[] = {pick(v[c], v[each + c], 1), pick(v[2 * each + c], v[3 * each + c], 1)};
    for (std::size_t k = 0; k < 2; ++k) {
      v[2 * k * each + c] = pick(even[0], even[1], static_cast<int>(k));
      v[(2 * k + 1) * each + c] = pick(odd[0], odd[1], static_cast<int>(k));
    }
  }
}

// Each round as above. Inside of 16 bytes the machine has cheap shuffles that take neighbours from
// either vector, so for elements of four bytes the first two rounds are made of those.
Values transposed(Builder &ir, Values v, std::size_t size) {
  const int width = Lanes::width(v[0]);
  int distance = 1;
  if (size == 4 && v.size() >= 4) {
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
      llvm::Value *a = ir.CreateShuffleVector(v[r], v[r + 1], low);
      llvm::Value *b = ir.CreateShuffleVector(v[r], v[r + 1], high);
      llvm::Value *c = ir.CreateShuffleVector(v[r + 2], v[r + 3], low);
      llvm::Value *d = ir.CreateShuffleVector(v[r + 2], v[r + 3], high);
      v[r] = ir.CreateShuffleVector(a, c, first);
      v[r + 1] = ir.CreateShuffleVector(a, c, second);
      v[r + 2] = ir.CreateShuffleVector(b, d, first);
      v[r + 3] = ir.CreateShuffleVector(b, d, second);
    }
    distance = 4;
  }
  // Squares of four pieces of 16 bytes each way: here it is cheapest to take two pieces of either
  // vector at a time.
  const int piece = 16 / static_cast<int>(size);
  const bool square = size >= 4 && static_cast<int>(v.size()) == width;
  const bool by_pieces = square && width == 4 * piece;
  for (; distance < (by_pieces ? piece : static_cast<int>(v.size())); distance *= 2) {
    if (square && distance == piece)
      // Else the code generator would try to make one shuffle of every four, round by round, which
      // took most of a compilation, and find none that is cheaper.
      for (llvm::Value *&vector : v) vector = fenced(ir, vector);
    std::vector<int> upper, lower;
    for (int lane = 0; lane < width; ++lane) {
      upper.push_back((lane & distance) != 0 ? width + lane - distance : lane);
      lower.push_back((lane & distance) != 0 ? width + lane : lane + distance);
    }
    for (std::size_t r = 0; r < v.size(); ++r) {
      if ((r & static_cast<std::size_t>(distance)) != 0) continue;
      llvm::Value *&a = v[r], *&b = v[r + static_cast<std::size_t>(distance)];
      llvm::Value *top = ir.CreateShuffleVector(a, b, upper);
      b = ir.CreateShuffleVector(a, b, lower);
      a = top;
    }
  }
  if (by_pieces) {
    for (llvm::Value *&vector : v) vector = fenced(ir, vector);
    exchange_pieces(ir, v, piece);
  }
  return v;
}

} // namespace

// In stack memory, so that one copy of the body does for all of them.
void Memory::put_on_stack(Elements &elements, llvm::Type *type) {
  elements.room = lanes_.room(type, elements.vectors.size());
  for (std::size_t k = 0; k < elements.vectors.size(); ++k)
    if (elements.vectors[k] != nullptr)
      ir_.CreateStore(elements.vectors[k], ir_.CreateConstGEP1_64(type, elements.room, k));
}

llvm::Value *Memory::load_element(const Place &here, const Elements &elements) {
  llvm::Value *row = elements.row != nullptr ? elements.row : here.positions[elements.along.index];
  if (elements.shared != nullptr)
    return ir_.CreateAlignedLoad(elements.type, ir_.CreateGEP(elements.type, elements.shared, row),
                                 llvm::Align(elements.type->getPrimitiveSizeInBits() / 8));
  if (elements.room == nullptr)
    return elements.vectors[llvm::cast<llvm::ConstantInt>(row)->getZExtValue()];
  llvm::Type *type = elements.room->getAllocatedType();
  return ir_.CreateLoad(type, ir_.CreateGEP(type, elements.room, row));
}

void Memory::store_element(const Place &here, Elements &elements, llvm::Value *value) {
  llvm::Value *row = elements.row != nullptr ? elements.row : here.positions[elements.along.index];
  if (elements.room == nullptr)
    elements.vectors[llvm::cast<llvm::ConstantInt>(row)->getZExtValue()] = value;
  else
    ir_.CreateStore(value, ir_.CreateGEP(value->getType(), elements.room, row));
}

Registers Memory::columns(const Place &here, const block::Run &run, bool store, bool on_stack) {
  const Loop &loop = program_[run.loop];
  const int width = here.group.width, turns = run.whole().positions();
  Registers found;
  for (const block::Access &access : run.whole().accesses) {
    const BufferId id = access.buffer;
    if (access.store != store || access.move != block::Move::Transposed ||
        context_.walk(id, loop.axis) == nullptr) // of a short loop around
      continue;
    Elements &columns = found[id];
    columns.along = loop.axis;
    if (access.prefetch.lines) // row after row, more or less
      ask_ahead(here.group, here.at[id.index],
                static_cast<std::int64_t>(size_of(program_[id].dtype)) * width * turns);
    if (access.prefetch.block) ask_along_rows(here, id, loop.reverse);
    for (int first = 0; !store && first < turns; first += width) {
      const Values block = columns_of_block(here, id, first, std::min(width, turns - first));
      columns.vectors.insert(columns.vectors.end(), block.begin(), block.end());
    }
    columns.vectors.resize(static_cast<std::size_t>(turns));
    llvm::Type *type = lanes_.widen(lanes_.memory_type(program_[id].dtype), width);
    if (on_stack) put_on_stack(columns, type);
  }
  return found;
}

void Memory::store_columns(const Place &here, Registers &awaited) {
  if (awaited.empty()) return;
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
    rows.push_back(context_.address(corner, id, group.loop->axis, row));
  }
  return rows;
}

// The lines of later blocks, in the row of each lane: more rows than the processor follows by
// itself. Into the second-level cache, as rows at distances of a power of two share a few lines of
// the first.
void Memory::ask_along_rows(const Place &here, BufferId id, bool reverse) {
  constexpr int lines_ahead = 4;
  llvm::Value *ahead = context_.number((reverse ? -lines_ahead : lines_ahead) * 64);
  for (llvm::Value *there : row_addresses(here, id, 0)) prefetch(context_.address(there, ahead), 2);
}

Values Memory::columns_of_block(const Place &here, BufferId id, int first, int count) {
  const std::size_t size = size_of(program_[id].dtype);
  const int all = padded(count), width = here.group.width;
  llvm::Type *scalar = lanes_.memory_type(program_[id].dtype);
  const auto load = [&](llvm::Value *there) -> llvm::Value * {
    auto *whole = llvm::FixedVectorType::get(scalar, static_cast<unsigned>(all));
    if (count == all) return ir_.CreateAlignedLoad(whole, there, llvm::Align(size));
    if (context_.machine.has_masked_move(size))
      return ir_.CreateMaskedLoad(whole, there, llvm::Align(size), first_of(ir_, count, all),
                                  llvm::Constant::getNullValue(whole));
    auto *part = llvm::FixedVectorType::get(scalar, static_cast<unsigned>(count));
    return ir_.CreateShuffleVector(ir_.CreateAlignedLoad(part, there, llvm::Align(size)),
                                   llvm::Constant::getNullValue(part), run_of(0, all));
  };
  context_.took(Path::ColumnsLoaded);
  Values rows, vectors;
  for (llvm::Value *there : row_addresses(here, id, first)) rows.push_back(load(there));
  for (int k = 0; k < all; ++k) { // several rows to a vector
    Values together;
    for (int lane = k; lane < width; lane += all)
      together.push_back(rows[static_cast<std::size_t>(lane)]);
    vectors.push_back(lanes_.joined(together));
  }
  vectors = transposed(ir_, std::move(vectors), size);
  vectors.resize(static_cast<std::size_t>(count));
  return vectors;
}

void Memory::store_block(const Place &here, BufferId id, int first, Values columns) {
  const std::size_t size = size_of(program_[id].dtype);
  const int count = static_cast<int>(columns.size()), all = padded(count);
  columns.resize(static_cast<std::size_t>(all), llvm::PoisonValue::get(columns[0]->getType()));
  const Values vectors = transposed(ir_, std::move(columns), size);
  const Values addresses = row_addresses(here, id, first);
  const bool masked = count < all && context_.machine.has_masked_move(size);
  context_.took(Path::ColumnsStored);
  for (int lane = here.group.width - 1; lane >= 0; --lane) {
    llvm::Value *row = ir_.CreateShuffleVector(vectors[static_cast<std::size_t>(lane % all)],
                                               run_of(lane / all * all, masked ? all : count));
    llvm::Value *there = addresses[static_cast<std::size_t>(lane)];
    if (masked)
      ir_.CreateMaskedStore(row, there, llvm::Align(size), first_of(ir_, count, all));
    else
      ir_.CreateAlignedStore(row, there, llvm::Align(size));
  }
}

Elements Memory::load_block(BufferId id, llvm::Value *there, AxisId across, int width) {
  const std::size_t size = size_of(program_[id].dtype);
  llvm::Type *type = lanes_.widen(lanes_.memory_type(program_[id].dtype), width);
  Elements block;
  for (int k = 0; k < width; ++k) {
    block.vectors.push_back(ir_.CreateAlignedLoad(type, there, llvm::Align(size)));
    there = context_.address(there, context_.step_bytes(id, across));
  }
  block.vectors = transposed(ir_, std::move(block.vectors), size);
  put_on_stack(block, type);
  return block;
}

// Thread t stores element t of each lane's row, and takes the row of lane t. Rows have a place more
// than elements there, so that neither asks the same bank of all threads.
Elements Memory::load_block_of_threads(BufferId id, llvm::Value *there, AxisId across,
                                       llvm::Value *shared) {
  const llvm::Align align(size_of(program_[id].dtype));
  llvm::Type *type = lanes_.memory_type(program_[id].dtype);
  const auto width = static_cast<std::uint64_t>(context_.machine.warp);
  llvm::Value *thread = ir_.CreateZExt(lanes_.thread(), ir_.getInt64Ty());
  there = ir_.CreateGEP(type, there, thread);
  Values loaded; // all before the first is stored: they wait for memory together
  for (std::uint64_t k = 0; k < width; ++k) {
    loaded.push_back(ir_.CreateAlignedLoad(type, there, align));
    there = context_.address(there, context_.step_bytes(id, across));
  }
  llvm::Value *column = ir_.CreateGEP(type, shared, thread);
  for (std::uint64_t k = 0; k < width; ++k)
    ir_.CreateAlignedStore(loaded[k], ir_.CreateConstGEP1_64(type, column, k * (width + 1)), align);
  Elements block;
  block.type = type;
  block.shared = ir_.CreateGEP(type, shared, ir_.CreateMul(thread, ir_.getInt64(width + 1)));
  return block;
}

Registers Memory::load_blocks(const Place &here, const block::Box &box, AxisId along,
                              llvm::Value *row, AxisId across, llvm::Value *lane) {
  Registers blocks;
  const int width = box.positions();
  const auto bytes_of = [&](const block::Access &access) {
    return size_of(program_[access.buffer].dtype) * std::size_t(width) * std::size_t(width + 1);
  };
  llvm::Value *shared = nullptr;
  if (lanes_.are_threads()) {
    std::size_t bytes = 0;
    for (const block::Access &access : box.accesses)
      if (access.move == block::Move::Transposed) bytes += bytes_of(access);
    context_.took(Path::TileOfThreads);
    lanes_.meet(); // nobody reads what lies there any more
    shared = lanes_.shared(bytes);
  }
  for (const block::Access &access : box.accesses) {
    const BufferId id = access.buffer;
    if (access.store || access.move != block::Move::Transposed) continue;
    llvm::Value *there = context_.address(here.at[id.index], id, along, row);
    there = context_.address(there, id, across, lane);
    if (shared == nullptr) {
      blocks[id] = load_block(id, there, across, width);
    } else {
      blocks[id] = load_block_of_threads(id, there, across, shared);
      shared = ir_.CreateConstGEP1_64(ir_.getInt8Ty(), shared, bytes_of(access));
    }
    blocks[id].along = along;
  }
  if (shared != nullptr) lanes_.meet();
  return blocks;
}

} // namespace broadloom::jit
